package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/audit"
	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/overview"
	"contactbase/internal/safehttp"
	"contactbase/internal/secret"
	"contactbase/internal/tenant"
	"contactbase/internal/webhook"
)

var webhookColumns = []string{
	"id", "tenant", "name", "url", "events", "filter", "maxPerSecond", "disabled", "disabledReason",
}

// NewWebhookCommand returns the command that manages outbound webhooks. sender sends pings; reach says which
// addresses it refuses.
func NewWebhookCommand(
	app core.App, deliveries *store.Store, sender *delivery.Sender, reach safehttp.Options,
) *cobra.Command {
	return group("webhook", "Manage outbound webhooks",
		webhookCreate(app, reach),
		webhookList(app),
		webhookUpdate(app, reach),
		webhookRotate(app),
		webhookPing(app, deliveries, sender, reach), webhookRecover(app, deliveries), webhookEnable(app),
		deleteCommand(app, deliveries, "webhook", "Delete a webhook with its deliveries", webhook.CollectionName, "webhook"))
}

var (
	checkSettings = []string{"portalAllowPrivate", "nats", "natsCreds", "natsSubjects"} // a webhook's URL must suit them
	sendSettings  = slices.Concat([]string{"allowPrivateWebhooks", "webhookAllow", "webhookProxy"}, checkSettings)
)

// webhookFlags are the settings that the commands create and update have as flags.
type webhookFlags struct {
	name, filter    string
	events, headers []string
	maxPerSecond    int
}

func (f *webhookFlags) bind(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.name, "name", "", "what the webhook is for")
	flags.StringSliceVar(&f.events, "event", nil,
		"an event type to deliver: "+alternatives(event.Kinds)+"; by default, all about contacts")
	flags.StringVar(&f.filter, "filter", "",
		"deliver only events that match this expression, such as: data.company == \"Acme\"")
	flags.IntVar(&f.maxPerSecond, "maxPerSecond", 0,
		"at most this many requests per second, up to 1000; 0 for no limit")
	flags.StringArrayVar(&f.headers, "header", nil,
		"a header of each request, such as 'Authorization: Bearer …'; repeat it for more")
	choices(command, "event", event.Kinds)
}

// values returns the fields of a webhook that the flags set.
func (f *webhookFlags) values(command *cobra.Command) (map[string]any, error) {
	// those of extensions, whose declarations this command does not load
	isOwn := func(kind string) bool { return !slices.Contains(event.Kinds, kind) && event.CheckOwn(kind) == nil }
	if err := oneOf("event", event.Kinds, slices.DeleteFunc(slices.Clone(f.events), isOwn)...); err != nil {
		return nil, err
	}
	headers, err := headersOf(f.headers)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for flag, set := range map[string]property{
		"name": {"name", f.name}, "event": {"events", f.events}, "filter": {"filter", f.filter},
		"maxPerSecond": {"maxPerSecond", f.maxPerSecond}, "header": {"headers", headers},
	} {
		if command.Flags().Changed(flag) {
			values[set.name] = set.value
		}
	}
	return values, nil
}

func webhookCreate(app core.App, reach safehttp.Options) *cobra.Command {
	var plain string
	var flags webhookFlags
	command := &cobra.Command{
		Use:         "create TENANT URL",
		Short:       "Create a webhook; its secret is shown once",
		Example:     "  contactbase webhook create Acme https://example.com/hook --event contact.created",
		Annotations: using(append(slices.Clip(sendSettings), "maxWebhooks")...),
		RunE: runOn(app, func(command *cobra.Command, t *tenant.Tenant, args []string) error {
			values, err := flags.values(command)
			if err != nil {
				return err
			}
			plain = cmp.Or(plain, secret.New())
			values["tenant"], values["url"], values["secret"] = t.Id, args[1], plain
			record, err := create(app, webhook.CollectionName, "webhook", values)
			if err != nil {
				return err
			}
			warnPrivate(command, reach, args[1])
			return printOne(command, append(columns(record, webhookColumns...), property{"secret", plain}))
		}),
	}
	flags.bind(command)
	command.Flags().StringVar(&plain, "secret", "", "your own secret, 8 to 256 characters (default: generated)")
	return command
}

func webhookUpdate(app core.App, reach safehttp.Options) *cobra.Command {
	var address string
	var disabled bool
	var flags webhookFlags
	command := &cobra.Command{
		Use:   "update ID",
		Short: "Change a webhook's URL, events or other settings; those without a flag stay",
		Example: "  contactbase webhook update <id> --url https://example.com/new\n" +
			"  contactbase webhook update <id> --event '' --disabled=false  # all contact events",
		Annotations: using(sendSettings...),
		RunE: run(app, func(command *cobra.Command, args []string) error {
			values, err := flags.values(command)
			if err != nil {
				return err
			}
			if command.Flags().Changed("url") {
				values["url"] = address
			}
			if command.Flags().Changed("disabled") {
				values["disabled"] = disabled
			}
			if len(values) == 0 {
				return errors.New("nothing to change: set --url, --event, --disabled or another flag")
			}
			record, err := app.FindRecordById(webhook.CollectionName, args[0])
			if err != nil {
				return notFound(err, "webhook", args[0])
			}
			record.Load(values)
			if err := app.Save(record); err != nil {
				return validationError("changing the webhook", err)
			}
			warnPrivate(command, reach, record.GetString("url"))
			return printOne(command, columns(record, webhookColumns...))
		}),
	}
	flags.bind(command)
	command.Flags().StringVar(&address, "url", "", "the new URL; it applies from the next attempt")
	command.Flags().BoolVar(&disabled, "disabled", false, "disable the webhook, or enable it with --disabled=false")
	return command
}

// warnPrivate warns if the server does not deliver to a URL without further settings.
func warnPrivate(command *cobra.Command, reach safehttp.Options, address string) {
	if host := safehttp.Host(address); reach.Refuses(host) {
		fmt.Fprintf(command.ErrOrStderr(), "warning: %s is a private address: the server delivers to it only with "+
			"--webhookAllow or --allowPrivateWebhooks\n", host)
	}
}

func webhookList(app core.App) *cobra.Command {
	return listWith(app, "webhook", "List the webhooks with their health in the last 24 hours",
		func(command *cobra.Command, filter dbx.HashExp) error {
			owner, _ := filter["tenant"].(string)
			page, err := overview.ListWebhooks(app,
				overview.WebhooksQuery{Tenant: owner, Sort: "created", Limit: math.MaxInt}, time.Now())
			if err != nil {
				return err
			}
			lines := map[string]overview.WebhookLine{}
			for _, line := range page.Webhooks {
				lines[line.ID] = line
			}
			return listRecords(command, app, webhook.CollectionName, filter, func(record *core.Record) row {
				line := lines[record.Id]
				shown := append(columns(record, webhookColumns...), property{"health", string(line.Health)},
					property{"failingSince", orNil(line.FailingSince)}, property{"lastError", orNil(line.LastError)})
				if !asJSON(command) {
					return shown
				}
				return append(shown, row{
					{"errorRate", line.ErrorRate}, {"attempts", line.Attempts},
					{"pending", line.Pending}, {"failed", line.Failed}, {"lastSuccess", line.LastSuccess},
				}...)
			})
		})
}

// headersOf returns the values of headers by their names, nil for none.
func headersOf(sent []string) (headers map[string]string, err error) {
	for _, header := range sent {
		name, value, ok := strings.Cut(header, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			// which may be secret
			return nil, errors.New("--header must be a name and a value, such as 'Authorization: Bearer …'")
		}
		if headers == nil {
			headers = map[string]string{}
		}
		headers[name] = strings.TrimSpace(value)
	}
	return headers, nil
}

func webhookRotate(app core.App) *cobra.Command {
	var overlapHours int
	command := &cobra.Command{
		Use:         "rotate ID",
		Short:       "Replace a webhook's secret; the old one also signs for 24 hours",
		Example:     "  contactbase webhook rotate <id>",
		Annotations: using(checkSettings...),
		RunE: run(app, func(command *cobra.Command, args []string) error {
			plain, err := webhook.RotateSecret(app, args[0], overlapHours, time.Now())
			if err != nil {
				return notFound(err, "webhook", args[0])
			}
			return printOne(command, row{{"id", args[0]}, {"secret", plain}})
		}),
	}
	command.Flags().IntVar(&overlapHours, "overlapHours", webhook.OverlapHours,
		"how many hours the old secret also signs, up to 24; 0 ends all old ones immediately")
	return command
}

func webhookPing(
	app core.App, deliveries *store.Store, sender *delivery.Sender, reach safehttp.Options,
) *cobra.Command {
	return &cobra.Command{
		Use:         "ping ID",
		Short:       "Send a test event and show the receiver's response",
		Example:     "  contactbase webhook ping <id>",
		Annotations: using(sendSettings...),
		RunE: run(app, func(command *cobra.Command, args []string) error {
			record, err := app.FindRecordById(webhook.CollectionName, args[0])
			if err != nil {
				return notFound(err, "webhook", args[0])
			}
			// a failed attempt would count against the webhook
			if host := safehttp.Host(record.GetString("url")); reach.Refuses(host) {
				return fmt.Errorf("%s is a private address, which the server and this command may not reach: "+
					"start the server with --webhookAllow, or pass it to this command", host)
			}
			attempt, err := delivery.Ping(command.Context(), deliveries, sender, args[0])
			if err != nil {
				return notFound(err, "webhook", args[0])
			}
			var status any // nil without a response
			if attempt.Status != 0 {
				status = attempt.Status
			}
			if err := printOne(command, row{
				{"delivery", attempt.DeliveryID},
				{"status", status},
				{"error", attempt.Error},
				{"durationMs", attempt.Duration.Milliseconds()},
				{"response", attempt.ResponseBody},
			}); err != nil {
				return err
			}
			if !attempt.Outcome.Success() {
				return fmt.Errorf("the receiver did not accept the test event")
			}
			return nil
		}),
	}
}

func webhookRecover(app core.App, deliveries *store.Store) *cobra.Command {
	var since string
	var recovery delivery.Recovery
	command := &cobra.Command{
		Use:     "recover ID --since TIME",
		Short:   "Queue again all events since a time that failed or were never attempted",
		Example: "  contactbase webhook recover <id> --since 2026-01-31T00:00:00Z --dryRun",
		RunE: run(app, func(command *cobra.Command, args []string) error {
			at, err := sinceOf(since, time.Now())
			if err != nil {
				return err
			}
			recovery.Since = at
			missed, err := deliveries.Recover(command.Context(), args[0], recovery)
			if err != nil {
				return notFound(err, "webhook", args[0])
			}
			if !recovery.DryRun {
				err := audit.WriteAbout(app, audit.Recovered, webhook.CollectionName, args[0], missed.Recovered())
				if err != nil {
					return err
				}
			}
			warnDisabled(command, app, args[0])
			return printOne(command, row{
				{"id", args[0]}, {"count", missed.Count}, {"failed", missed.Failed}, {"missed", missed.Missed},
				{"pending", missed.Pending}, {"types", missed.Types}, {"dryRun", recovery.DryRun},
			})
		}),
	}
	command.Flags().StringVar(&since, "since", "", "the start: a time such as 2026-01-31T12:00:00Z, a date such as "+
		"2026-01-31 (midnight UTC), or how long ago, such as 90m, 24h or 7d")
	command.Flags().BoolVar(&recovery.Before, "before", false, "include events from before the webhook existed")
	command.Flags().BoolVar(&recovery.RetryPending, "pending", false, "also send now what waits for a retry")
	command.Flags().BoolVar(&recovery.DryRun, "dryRun", false, "only count")
	return command
}

// mostSinceDays bounds the days of --since: a century.
const mostSinceDays = 36_500

// sinceOf reads the flag --since: a time, a date or how long ago.
func sinceOf(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 64); err == nil && n <= mostSinceDays {
			return now.Add(-time.Duration(n) * 24 * time.Hour), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, errors.New("--since must be a time such as 2026-01-31T12:00:00Z, a date such as 2026-01-31, " +
		"or how long ago, such as 90m, 24h or 7d")
}

func webhookEnable(app core.App) *cobra.Command {
	return &cobra.Command{
		Use:         "enable ID",
		Short:       "Enable a disabled webhook; pending deliveries keep their schedule",
		Example:     "  contactbase webhook enable <id>",
		Annotations: using(checkSettings...),
		RunE: run(app, func(command *cobra.Command, args []string) error {
			record, err := app.FindRecordById(webhook.CollectionName, args[0])
			if err != nil {
				return notFound(err, "webhook", args[0])
			}
			record.Set("disabled", false)
			if err := app.Save(record); err != nil {
				return validationError("enabling the webhook", err)
			}
			return printOne(command, columns(record, webhookColumns...))
		}),
	}
}

// warnDisabled warns if the webhook is disabled and so receives nothing.
func warnDisabled(command *cobra.Command, app core.App, id string) {
	record, err := app.FindRecordById(webhook.CollectionName, id)
	if err == nil && record.GetBool("disabled") {
		fmt.Fprintf(command.ErrOrStderr(),
			"warning: the webhook is disabled; deliveries wait until you run contactbase webhook enable %s\n", id)
	}
}
