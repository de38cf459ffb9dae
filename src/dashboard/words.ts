/** Numbers, sizes and times as people read them. */

const NUMBER = new Intl.NumberFormat();
const SHORT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

/** Exact below 100,000, and 1.2M above. */
export function count(value: number): string {
  return Math.abs(value) < 100_000 ? NUMBER.format(value) : SHORT.format(value);
}

export function exact(value: number): string {
  return NUMBER.format(value);
}

/** A rate with as many digits as are worth reading: 0.3, 12, 1,240. */
export function rate(perSecond: number): string {
  if (perSecond === 0) return "0";
  if (perSecond < 0.1) return "< 0.1";
  return perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond));
}

const SIZES = ["B", "KB", "MB", "GB", "TB"];

/** Powers of 1,024, as the config has them. */
export function size(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1_024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${SIZES[power]}`;
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** How long: `850 ms`, `12 s`, `3 min 20 s`, `2 d 4 h`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const first = UNITS.findIndex(([, unit]) => ms >= unit);
  const [name = "s", unit = 1_000] = UNITS[first] ?? [];
  const whole = Math.floor(ms / unit);
  const next = UNITS[first + 1];
  const rest = next && whole < 10 ? Math.floor((ms - whole * unit) / next[1]) : 0;
  return next && rest > 0 ? `${whole} ${name} ${rest} ${next[0]}` : `${whole} ${name}`;
}

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** The reader's own time zone. */
export function moment(time: string): string {
  return MOMENT.format(new Date(time));
}

const MINUTE = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

export function minute(time: string): string {
  return MINUTE.format(new Date(time));
}

export function clockTime(time: string): string {
  return CLOCK.format(new Date(time));
}

/** `one 3 "delivery" "deliveries"` → `3 deliveries`. */
export function some(value: number, one: string, many: string): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
