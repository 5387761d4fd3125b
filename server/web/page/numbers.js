// Formats numbers for people, and computes what happened between two answers of the statistics.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function size(bytes) {
  let unit = 0;
  while (bytes >= 1024 && unit < UNITS.length - 1) { bytes /= 1024; unit += 1; }
  const digits = unit === 0 || bytes >= 100 ? 0 : 1;
  return `${bytes.toFixed(digits)} ${UNITS[unit]}`;
}

export function count(number) {
  return Math.round(number).toLocaleString("en-US");
}

export function rate(number) {
  if (number >= 100) return count(number);
  return number >= 10 ? number.toFixed(1) : number.toFixed(number === 0 ? 0 : 2);
}

export function percent(share) {
  if (!Number.isFinite(share)) return "–";
  const of100 = 100 * share;
  return of100 > 0 && of100 < 1 ? "<1 %" : `${Math.round(of100)} %`;
}

// Microseconds as a duration.
export function duration(us) {
  if (us === null || !Number.isFinite(us)) return "–";
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 10_000) return `${(us / 1000).toFixed(1)} ms`;
  if (us < 1_000_000) return `${Math.round(us / 1000)} ms`;
  if (us < 120_000_000) return `${(us / 1e6).toFixed(us < 10_000_000 ? 1 : 0)} s`;
  const minutes = us / 60e6;
  if (minutes < 120) return `${Math.round(minutes)} min`;
  return minutes < 2880 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1440)} days`;
}

// Entry i of a histogram counts what took less than 2^i microseconds and is in no entry before it.
// Inside an entry a quantile is interpolated, evenly on the logarithmic scale.
export function quantile(entries, part) {
  const total = entries.reduce((sum, n) => sum + n, 0);
  if (!total) return null;
  let seen = 0;
  for (let i = 0; i < entries.length; i += 1) {
    if (entries[i] && seen + entries[i] >= part * total) {
      return i === 0 ? 1 : 2 ** (i - 1 + (part * total - seen) / entries[i]);
    }
    seen += entries[i];
  }
  return null;
}

export function difference(now, before) {
  if (!before || before.length !== now.length) return now;
  const found = now.map((n, i) => n - before[i]);
  return found.some((n) => n < 0) ? now : found;  // the daemon was started again
}

export function sum(items, of) {
  return items.reduce((total, item) => total + of(item), 0);
}

export function results(stats) {
  return sum(stats.ended_requests.filter((r) => r.code === "OK"), (r) => r.count);
}

// One point of the charts, in the form that /api/history has.
export function pointOf(stats) {
  const totals = stats.stages.filter((s) => s.stage === "total").map((s) => s.latency);
  return {
    unix_ms: stats.start_unix_ms + stats.uptime_ms,
    results: results(stats),
    failed_requests: stats.failed_requests,
    result_byte_size: stats.result_byte_size,
    waited_us: stats.waited_us,
    shm_used_byte_size: stats.shm_used_byte_size,
    latency: totals.length ? totals[0].map((_, i) => sum(totals, (t) => t[i])) : [],
  };
}

// Seconds between two answers by the daemon's own clock, because an answer may have been delayed.
export function secondsBetween(now, before) {
  return Math.max(0.001, (now.uptime_ms - before.uptime_ms) / 1000);
}

// Microseconds that requests spent in each stage between two answers.
export function stageTimes(now, before) {
  const order = ["queue", "memory", "sampling", "gathering", "delivery"];
  const earlier = new Map(before.stages.map((s) => [`${s.kind} ${s.stage}`, s.sum_us]));
  return order.map((stage) => ({
    stage,
    us: sum(now.stages.filter((s) => s.stage === stage),
      (s) => Math.max(0, s.sum_us - (earlier.get(`${s.kind} ${stage}`) ?? 0))),
  }));
}
