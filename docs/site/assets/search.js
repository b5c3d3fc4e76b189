// Ranks the operations, the error codes and the sections of guides that fit a query.

/** @typedef {{ page: string, heading: string, path?: string, address: string, text: string }} Section */
/** @typedef {{ section: Section, title: Map<string, number>, text: Map<string, number>, all: string }} Prepared */

/** Words that say nothing about a subject. */
const stopWords = new Set((
  "a about all an and any are as at be been but by can cannot could do does doing for from get give go had has have help here how i if in into is it " +
  "its just like make may me my need no not of on one or our set should show so some than that the their them then there these they this those to " +
  "too up us use used using want was we what when where which who why will with work would you your"
).split(" "));

/** What people call things, and what the documentation calls them. */
const synonyms = Object.entries({
  "ai llm gpt chatgpt claude agent assistant": "mcp language model",
  "admin administrator root": "superuser",
  "allowlist whitelist allowlisting firewall egress localhost": "private addresses webhookAllow network",
  "analytics statistics dashboards prometheus grafana alert alerts": "monitoring metrics",
  "sdk library python javascript package npm pip": "client clients",
  "attach connect integrate zapier make": "sender senders inbound",
  "backups snapshot disaster": "backup replica restore",
  "bill pricing cost": "performance",
  "broken debug debugging troubleshoot troubleshooting stuck unreachable missing working arriving": "trouble failing failed recover pending",
  "bulk mass many": "batch import",
  "certificate ssl tls letsencrypt domain": "https proxy",
  "cluster ha availability failover redundancy replication": "standby replica leader",
  "compliance gdpr dsgvo ccpa privacy forgotten subject anonymize": "privacy erased erase",
  "conflict concurrent concurrency race lost": "conditional match etag",
  "configuration config configure environment env option": "settings flags",
  "dark theme color": "colors",
  "e164 mobile": "phone international",
  "uptime healthcheck liveness readiness": "monitoring readyz health",
  "timeout slow latency": "timeout respond seconds trouble",
  "customer account workspace organization": "tenant",
  "dedupe deduplicate duplicated": "duplicates merge",
  "docker kubernetes compose podman": "container install",
  "erase remove purge wipe": "delete deletion",
  "excel csv xlsx spreadsheet vcf vcard migrate upload": "import export",
  "field fields attribute property schema": "custom field",
  "filter find query lookup": "search list",
  "hmac checksum authenticity verification forged spoof": "signature verify",
  "history log logs activity": "audit event",
  "ip ips": "addresses firewall",
  "invite invitation user users team teammate colleague seat": "member members add",
  "mismatch invalid wrong incorrect": "signature verify error",
  "notification notify": "notice notices email",
  "pagination paginate paging": "list page cursor hasmore",
  "poll polling stream streaming sse realtime websocket live": "feed events",
  "quota throttle throttling throttled ratelimit 429": "limits rate_limited",
  "replay resend": "redeliver redelivery recover",
  "roles rbac access scope scopes": "permissions permission role",
  "ram cpu sizing speed fast": "performance",
  "iframe embed widget": "portal links",
  "plugin plugins extension extensions customize hook": "extend extending hooks",
  "sandbox staging": "test demo listen",
  "smtp mailserver sendgrid mail mails": "mail server email",
  "sso saml oidc oauth login signin": "oauth2 sign",
  "sync synchronize replicate mirror etl warehouse": "copy database feed",
  "token secret credential apikey": "key keys authentication",
  "upgrade update version release": "upgrading",
}).flatMap(([from, to]) => from.split(" ").map((word) => /** @type {const} */ ([stem(word), to.split(" ").map((name) => stem(name.toLowerCase()))])));
const synonymsOf = new Map(synonyms);

/** Phrases whose words say something else, or nothing, one by one. */
const phrases = /** @type {const} */ ([
  [/back(?:ing)?.?up (?:the |my )?(?:database|data)\b/, "backup restore"],
  [/(?:forg[oe]t\w*|lost|reset) (?:the |my )?(?:admin|superuser|root)\w* (?:password|account)/, "superuser locked out"],
  [/link\b.*\bexpired|expired\b.*\blink/, "expired link something does not work"],
  [/too many requests|rate.?limit\w*|request limit/, "rate_limited limits"],
  [/\bwho (?:has )?(?:changed|deleted|created|edited|did)/, "audit"],
  [/personal data|right to be forgotten|data subject/, "privacy erased"],
  [/(?:does ?n.t|do not|does not|not|stopp?ed|no longer) (?:work|arriv|deliver|receiv|gett|sen[dt])\w*/, "trouble failing"],
  [/\bwhy\b.*\bfail\w*|\bfail\w*.*\bwhy\b/, "trouble failing"],
  [/(?:single )?sign.?on\b|log ?in|sign ?in/, "oauth2 sign session"],
  [/two.?factor\w*|\b2fa\b|\bmfa\b/, "multi factor sign"],
  [/how long .*(?:kept|keep|stored|store)|\bkept\b|\bretain\w*/, "retention retentionDays"],
  [/(?:get|obtain|create|need|find) (?:an?|my|the)? ?(?:api )?(?:keys?|tokens?)\b/, "authentication key"],
  [/health check\w*/, "monitoring readyz healthcheck"],
  [/test mode|test environment|local(?:ly)? test\w*|\btest\w*\b.*\blocal(?:ly|host)\b/, "listen demo test"],
  [/let.?s ?encrypt|\bacme\b|\bports?\b/, "self hosting serve ports https certificate"],
  [/how much (?:memory|ram|cpu|disk)|(?:system )?requirements|hardware|\bbenchmarks?/, "performance scales memory"],
  [/load.?balanc\w*|reverse proxy|nginx|haproxy|traefik|cloudflare/, "proxy proxies"],
  [/replay (?:attack|protection)s?/, "verify signature timestamp"],
  [/(?:duplicate|repeated|double|same) requests?|sen[dt] twice|exactly once/, "idempotency key"],
  [/(?:debug|verbose) log\w*|log.?level/, "logLevel log"],
  [/read.?only/, "permissions key contacts:read"],
  [/(?:delet|clean|prun|purg|expir)\w* (?:up )?(?:of )?(?:old|logs?)\b|\bhousekeeping\b/, "retention retentionDays"],
  [/(?:javascript|js|pb|go|custom).?(?:hook|route|code|logic|event)s?\b/, "extend hooks javascript"],
  [/high availability|no downtime|zero downtime/, "standby failover"],
]);

/**
 * The words of a text: identifiers as a whole and in their parts.
 *
 * @param {string} text
 */
function words(text) {
  const plain = text.normalize("NFD").replace(/\p{M}/gu, "");
  const parts = plain.replace(/_/g, " ").replace(/(\p{Ll})(?=\p{Lu})/gu, "$1 ");
  const all = /** @type {string[]} */ (plain.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || []);
  return parts === plain ? all : [...all, ...(parts.toLowerCase().match(/[\p{L}\p{N}]+/gu) || []).filter((word) => !all.includes(word))];
}

/**
 * The part of a word that its forms share: retry, retries, retrying.
 *
 * @param {string} word
 */
function stem(word) {
  if (/[\d_]/.test(word)) {
    return word;
  }
  for (const ending of [/(?:i?cations?|i?cat(?:es?|ing|ed))$/, /(?:ations?|at(?:es?|ing|ed))$/, /(?:ies|ied|ying|iers?)$/, /(?:ings?|ed|ers?|ions?|es|s|e|y)$/]) {
    const rest = word.replace(ending, "");
    if (rest !== word && rest.length > 2) {
      return rest;
    }
  }
  return word;
}

/** @type {WeakMap<Section[], { sections: Prepared[], rarity: Map<string, number> }>} */
const prepared = new WeakMap();

/** @param {string} text */
function count(text) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const word of words(text)) {
    counts.set(stem(word), (counts.get(stem(word)) || 0) + 1);
  }
  return counts;
}

/** @param {Section[]} sections */
function prepare(sections) {
  let known = prepared.get(sections);
  if (!known) {
    const all = sections.map((section) => {
      const { page, heading, path = "", text, address } = section;
      const title = count(`${page} ${path} ${path && address.split("#")[1]}`); // an operation is known by its ID, too
      for (const [word, times] of count(heading || page)) {
        title.set(word, (title.get(word) || 0) + times + 1); // a heading says more than the name of its page
      }
      return { section, title, text: count(text), all: `${page} ${heading} ${path} ${text}`.toLowerCase() };
    });
    /** @type {Map<string, number>} */
    const rarity = new Map();
    for (const { title, text } of all) {
      for (const word of new Set([...title.keys(), ...text.keys()])) {
        rarity.set(word, (rarity.get(word) || 0) + 1);
      }
    }
    for (const [word, having] of rarity) {
      rarity.set(word, Math.log(1 + all.length / having));
    }
    prepared.set(sections, (known = { sections: all, rarity }));
  }
  return known;
}

/**
 * Returns the sections that have any of the words, the best first.
 *
 * @param {Section[]} sections
 * @param {string} query
 */
export function rank(sections, query) {
  const { sections: all, rarity } = prepare(sections);
  const typed = words(query);
  let rest = query.toLowerCase();
  for (const [phrase, meaning] of phrases) {
    rest = rest.replace(phrase, meaning);
  }
  const meaning = words(rest).filter((word) => !stopWords.has(word));
  const terms = [...new Set(meaning.length ? meaning : typed)];
  const beginning = terms.at(-1) || ""; // the last word may still be typed
  const begun = beginning.length < 3 || rarity.has(stem(beginning)) ? [] : [...rarity.keys()].filter((word) => word.startsWith(beginning) && word !== stem(beginning));

  /**
   * @param {Prepared} in_
   * @param {string} word
   */
  const weigh = ({ title, text }, word) => {
    const [named, said] = [title.get(word) || 0, text.get(word) || 0];
    return (rarity.get(word) || 0) * (2.5 * Math.min(named, 3) + said / (said + 1.5));
  };
  return all.map((candidate) => {
    let [points, found] = [0, 0];
    for (const term of terms) {
      const stemmed = stem(term);
      const points_ = Math.max(
        weigh(candidate, stemmed),
        (synonymsOf.get(stemmed) || []).reduce((sum, word) => sum + 0.5 * weigh(candidate, word), 0),
        ...(term === beginning ? begun.map((word) => 0.5 * weigh(candidate, word)) : []),
      );
      points += points_;
      found += points_ > 0 ? 1 : 0;
    }
    const { heading, page, path = "" } = candidate.section;
    if (path) { // a guide explains more
      points *= 0.8;
    }
    const isNamed = [(heading || page), path].some((name) => words(name).join(" ") === words(query).join(" "));
    return { section: candidate.section, points: isNamed ? (path ? 2000 : 1000) + points : points * (found / terms.length) ** 1.5 };
  }).filter(({ points }) => points > 0).sort((a, b) => b.points - a.points).map(({ section }) => section);
}
