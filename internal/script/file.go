package script

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/plugins/jsvm"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/extension"
)

// file is a file of hooks. PocketBase's plug-in runs it once in a runtime that binds the hooks, each by its source
// text, and runs the hooks in others.
type file struct {
	app    core.App
	name   string
	source string
}

// The names of what a runtime has beside PocketBase's globals.
const (
	argsName   = "__args" // PocketBase's, set before a hook runs, and set to undefined when it has ended
	appName    = "$app"   // PocketBase's, too
	failedName = "__contactbaseFailed"
	routedName = "__contactbaseRouted"
)

// prepare prepares a runtime. PocketBase sets its own globals afterwards.
func (f *file) prepare(vm *goja.Runtime) {
	r := &run{file: f, vm: vm}
	f.bindEvents(vm)
	define := func(name string, changed func(goja.Value) goja.Value) {
		value := goja.Undefined()
		get := vm.ToValue(func(goja.FunctionCall) goja.Value { return value })
		set := vm.ToValue(func(call goja.FunctionCall) goja.Value {
			value = changed(call.Argument(0))
			return goja.Undefined()
		})
		_ = vm.GlobalObject().DefineAccessorProperty(name, get, set, goja.FLAG_TRUE, goja.FLAG_FALSE) // it is a new property
	}
	_ = vm.Set(failedName, r.failed)
	_ = vm.Set(routedName, r.routed)
	define(appName, func(app goja.Value) goja.Value {
		if given, ok := app.Export().(core.App); ok {
			return vm.ToValue(r.limited(given))
		}
		return app
	})
	define(argsName, func(args goja.Value) goja.Value {
		r.end()
		if !goja.IsUndefined(args) {
			r.begin(args.Export())
		}
		return args
	})
	for _, name := range binders(f.app) {
		define(name, func(bind goja.Value) goja.Value { return r.locating(bind, name == "routerAdd") })
	}
}

// binders returns the names of the functions by which JavaScript binds hooks, routes and jobs.
func binders(app core.App) []string {
	names := []string{"cronAdd", "routerAdd", "routerUse"}
	typed := reflect.TypeOf(app)
	for method := range typed.Methods() {
		if strings.HasPrefix(method.Name, "On") && method.Name != "OnServe" {
			names = append(names, jsvm.FieldMapper{}.MethodName(typed, method))
		}
	}
	return names
}

// locating returns a function that binds as the given one does, with functions whose errors name the file and line.
func (r *run) locating(bind goja.Value, isRoute bool) goja.Value {
	original, ok := goja.AssertFunction(bind)
	if !ok {
		return bind
	}
	return r.vm.ToValue(func(call goja.FunctionCall) goja.Value {
		for i, argument := range call.Arguments {
			if _, isScript := argument.Export().(func(goja.FunctionCall) goja.Value); isScript {
				before := ""
				if isRoute && i == 2 { // its handler, behind which nothing else uses the request
					before = routedName + "(arguments[0]); "
				}
				call.Arguments[i] = r.vm.ToValue(r.located(argument.String(), before))
			}
		}
		result, err := original(call.This, call.Arguments...)
		if err != nil {
			panic(err) // as the original function does
		}
		return result
	})
}

// located returns the source text of a function that calls the one with the given text, whose lines have the numbers
// that they have in the file. The statement before runs first.
func (r *run) located(text, before string) string {
	begin := 0 // of the line that binds it
	if stack := r.vm.CaptureCallStack(2, nil); len(stack) > 1 {
		for range stack[1].Position().Line - 1 {
			begin += strings.IndexByte(r.file.source[begin:], '\n') + 1
		}
	}
	at := strings.Index(r.file.source[begin:], text)
	if at < 0 {
		begin, at = 0, strings.Index(r.file.source, text)
	}
	lines := strings.Count(r.file.source[:begin+max(at, 0)], "\n")
	return "function() { " + before + "try { return (" + strings.Repeat("\n", lines) + text +
		").apply(undefined, arguments) } catch (err) { throw " + failedName + "(err) } }"
}

// run is a runtime that runs one hook at a time.
type run struct {
	file *file
	vm   *goja.Runtime

	release func() // ends the notice that a hook runs in a transaction; nil for none

	mu    sync.Mutex
	timer *time.Timer // that interrupts what runs; nil for none
}

// maxFrames is how many frames of Go may be on the stack when a hook begins: a hundred hooks that call each other have
// fewer. Each takes a runtime of its own.
const maxFrames = 10_000

// begin limits a hook that runs in a transaction, and the depth of hooks that call each other.
func (r *run) begin(args any) {
	if runtime.Callers(maxFrames, make([]uintptr, 1)) > 0 {
		r.vm.Interrupt(&extension.Failure{File: r.file.name, Err: extension.ErrTooDeep})
		return
	}
	list, _ := args.([]any)
	if len(list) == 0 {
		return
	}
	field := reflect.Indirect(reflect.ValueOf(list[0])).FieldByName("App")
	if !field.IsValid() {
		return
	}
	if app, ok := field.Interface().(core.App); ok && app.IsTransactional() {
		r.release = extension.Hold(app, []string{r.file.name})
		r.limit()
	}
}

func (r *run) end() {
	r.unlimit()
	r.vm.ClearInterrupt()
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

// limitedApp is an app for JavaScript, whose transactions take no longer than other writes can wait.
type limitedApp struct {
	core.App
	run *run
}

func (r *run) limited(app core.App) core.App {
	if l, ok := app.(limitedApp); ok {
		app = l.App
	}
	return limitedApp{app, r}
}

// routed limits the transactions of a route's handler that begin with the app of the request.
func (r *run) routed(e *core.RequestEvent) { e.App = r.limited(e.App) }

// Unwrap returns the app without the limit.
func (l limitedApp) Unwrap() core.App { return l.App }

// RunInTransaction implements core.App.
func (l limitedApp) RunInTransaction(do func(tx core.App) error) error {
	if l.IsTransactional() { // which is limited already
		return do(l.App)
	}
	err := extension.Transact(l.App, l.run.file.name, func(tx core.App) error {
		l.run.limit()
		defer l.run.unlimit()
		return do(tx)
	})
	if failure := (*extension.Failure)(nil); errors.Is(err, extension.ErrTooLong) && errors.As(err, &failure) {
		failure.Locate(err.Error())
		failure.Logged = true
		l.Logger().Error("a hook failed", "hook", failure.Place(), "error", failure)
	}
	return err
}

// limit interrupts what runs if it takes too long for the other writes, which wait for its transaction.
func (r *run) limit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var timer *time.Timer
	timer = time.AfterFunc(extension.Longest, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.timer == timer {
			r.vm.Interrupt(&extension.Failure{File: r.file.name, Err: extension.ErrTooLong})
		}
	})
	r.timer = timer
}

func (r *run) unlimit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
		r.vm.ClearInterrupt()
	}
}

// failed returns what to throw instead of a value that a hook has thrown: an error that names the file. Errors for the
// client and those that name one stay.
func (r *run) failed(call goja.FunctionCall) goja.Value {
	thrown := call.Argument(0)
	var cause error
	switch v := thrown.Export().(type) {
	case error:
		cause = v
	case map[string]any: // an error of Go, thrown by a function of it
		cause, _ = v["value"].(error)
	}
	if cause == nil {
		cause = errors.New(thrown.String())
	}
	var located *extension.Failure
	var routed *router.ApiError
	var invalid validation.Errors
	var single validation.Error
	if errors.As(cause, &located) || errors.As(cause, &routed) && routed.Status < 500 ||
		errors.As(cause, &invalid) || errors.As(cause, &single) {
		return thrown
	}
	failure := &extension.Failure{File: r.file.name, Err: cause}
	if object, ok := thrown.(*goja.Object); ok {
		if stack := object.Get("stack"); stack != nil {
			failure.Locate(stack.String())
		}
	}
	failure.Logged = true
	r.file.app.Logger().Error("a hook failed", "hook", failure.Place(), "error", failure)
	return r.vm.ToValue(failure)
}
