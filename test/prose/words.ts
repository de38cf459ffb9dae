// The house's words. Each entry is a phrase that a reader stumbles over, or a second name for a thing that has one, and
// what to write instead. A phrase that is often right is not listed: that is for reviewers.

export interface Phrase {
  readonly found: RegExp;
  readonly say: string;
}

function phrase(pattern: string, say: string): Phrase {
  return { found: new RegExp(`\\b(?:${pattern.replaceAll(" ", "\\s+")})\\b`, "giu"), say };
}

function exactly(pattern: string, say: string): Phrase {
  return { found: new RegExp(`(?<![\\w.@/-])(?:${pattern})(?![\\w/-])`, "gu"), say };
}

/** English that needs a second reading. */
const PLAIN: readonly Phrase[] = [
  phrase("(?:is|are|was|were|be|being|been) told(?! apart)", "logged, shown, notified: name what the reader gets"),
  phrase("mend(?:s|ed|ing)?", "fix"),
  phrase("what waits?", "waiting deliveries"),
  phrase("of before", "the old, the earlier"),
  phrase("who(?:so)?ever", "anyone who, or name them: the operator, the receiver"),
  phrase("anew", "again; of a config: reloaded"),
  phrase("thick and fast", "many at once"),
  phrase("by hand it is", "by hand:"),
  phrase("nothing is different", "no changes"),
  phrase("(?:as soon as|when) its turn comes", "queued for its first attempt"),
  { found: /\bthat there (?:are|is)(?=[.,;:)]|$)/gu, say: "name them: all, existing" },
  phrase("to be had", "available"),
  phrase("but for", "except"),
  phrase("(?:is|are|was|were) to be", "must be, will be"),
  phrase("not[^.:;]* any\\s*more", "no longer"),
  phrase("all the same", "anyway"),
  phrase("some (?=\\d)", "about"),
  phrase("see to", "check, fix"),
  phrase("for good", "permanently"),
  phrase("hears? of|heard of|knows? of|warned of", "is notified of, knows, warns about"),
  phrase("well again", "working again"),
  phrase("by and by|at hand|be it|thereafter", "gradually, here, whether, after that"),
  phrase(
    "lest|whilst|amongst|hence|thereby|therein|thereof|whereof|wherein|whereby|forthwith|hitherto|henceforth",
    "a common word: so that, while, so, in it",
  ),
  phrase("shall", "must, will"),
  phrase("in order to", "to"),
  phrase("prior to", "before"),
  phrase("due to the fact that|in view of", "because"),
  phrase("in the event (?:of|that)|in case", "if, when"),
  phrase("with regard to|with respect to|in respect of", "about, for"),
  phrase("utili[sz]e[sd]?|utili[sz]ing", "use"),
  phrase("is able to|are able to", "can"),
  phrase("obviously|simply|easily|of course|basically|needless to say", "leave it out"),
  phrase("and so on and so forth|and the like", "name them, or leave it out"),
  { found: /\b(?:e\.\s?g|i\.\s?e)\./giu, say: "for example, that is" },
];

/** One term for one thing, and names as their owners write them. */
const TERMS: readonly Phrase[] = [
  phrase("dead-letters?|deadletters?", "dead letter"),
  phrase("web hooks?|web-hooks?", "webhook"),
  phrase("end[- ]points?", "endpoint"),
  phrase("data(?:base| base) file", "outbox file"),
  exactly("[Ww]ritekeys?|[Ww]rite-keys?", "write key"),
  phrase("back-offs?", "backoff"),
  phrase("e-mails?", "email"),
  phrase("can not", "cannot"),
  exactly("Postgres|Postgresql|PostgreSql", "PostgreSQL"),
  exactly("Sqlite|SQlite|SQLITE", "SQLite"),
  exactly("Javascript", "JavaScript"),
  exactly("Typescript", "TypeScript"),
  exactly("Github", "GitHub"),
  exactly("SystemD|Systemd", "systemd"),
  exactly("Json|Yaml|Http|Https|Api|Url|Cli", "the abbreviation in capitals"),
];

export const HOUSE_WORDS: readonly Phrase[] = [...PLAIN, ...TERMS];
