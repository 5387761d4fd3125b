// Asks for the statistics every second and shows them. They are those of GetStats.
import { Charts } from "./charts.js";
import {
  count, difference, duration, percent, pointOf, quantile, rate, results, secondsBetween, size, stageTimes, sum,
} from "./numbers.js";
import { element, showDatasets, showDisk, showEvents, showFiles, showTrainers, stat, waitShare } from "./tables.js";

const EVERY_MS = 1000;
const PATIENCE_MS = 5000;
const MOST_POINTS = 600;
// Rates are taken over this many answers.
const WINDOW = 5;

const byId = (id) => document.getElementById(id);
let answers = [];
let points = [];
let charts = null;
let state = "connecting";
let datasetsOf = "";

class NeedsToken extends Error {}

async function ask(path, headers = {}) {
  const answer = await fetch(path, { headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  if (answer.status === 401) throw new NeedsToken();
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.status === 204 ? null : answer.json();
}

// ---- state ----

const STATES = {
  connecting: "connecting …", serving: "serving", idle: "no trainer yet", draining: "draining",
  gone: "daemon gone", reconnected: "reconnected", locked: "needs its token",
};

function setState(next) {
  if (next === state) return;
  state = next;
  const shown = byId("state");
  shown.dataset.state = next;
  shown.textContent = STATES[next];
  document.title = next === "gone" ? "gone · graphzero" : "graphzero";
  document.body.classList.toggle("gone", next === "gone");
}

function stateOf(stats, wasGone) {
  if (wasGone) return "reconnected";
  if (stats.draining) return "draining";
  return stats.num_sessions ? "serving" : "idle";
}

// ---- what is shown ----

function big(target, text, unit = "") {
  target.replaceChildren(document.createTextNode(text), ...(unit ? [element("span", ` ${unit}`, "unit")] : []));
}

function showTiles(stats, before, memory) {
  const seconds = secondsBetween(stats, before);
  const perSecond = Math.max(0, results(stats) - results(before)) / seconds;
  const bytes = Math.max(0, stats.result_byte_size - before.result_byte_size) / seconds;
  const latency = difference(pointOf(stats).latency, pointOf(before).latency);
  const failed = stats.failed_requests - before.failed_requests;
  const asked = Math.max(1, stats.requests - before.requests);

  big(byId("tile-working"), stats.draining ? "stopping" : failed > 0 ? `${percent(failed / asked)} fail` : stats.num_sessions ? "yes" : "ready");
  byId("tile-working").classList.toggle("bad", failed > 0);
  stat(byId("tile-working-sub"), "requests", stats.requests,
    `${count(stats.requests)} requests, ${count(stats.failed_requests)} failed`);
  byId("tile-working-sub").dataset.failed = stats.failed_requests;

  big(byId("tile-speed"), rate(perSecond), "batches/s");
  stat(byId("tile-speed-sub"), "result_byte_size", stats.result_byte_size,
    perSecond ? `${size(bytes)}/s, median ${duration(quantile(latency, 0.5))}` : `${size(stats.result_byte_size)} so far`);

  const earlier = new Map(before.sessions.map((s) => [s.session_id, s]));
  const shares = stats.sessions.map((s) => waitShare(s, earlier.get(s.session_id), earlier.has(s.session_id) ? seconds : Math.max(0.001, s.age_ms / 1000)));
  const waiting = shares.length ? sum(shares, (s) => s) / shares.length : null;
  const busiest = stageTimes(stats, before).reduce((a, b) => (b.us > a.us ? b : a));
  big(byId("tile-wait"), waiting === null ? "nobody" : percent(waiting), waiting === null ? "" : "waiting for data");
  stat(byId("tile-wait-sub"), "waited_us", stats.waited_us,
    waiting === null ? "no trainer is connected" : waiting > 0.5 ? "trainers wait for batches" : waiting > 0.15 ? "trainers wait now and then" : "the daemon keeps up");

  big(byId("tile-memory"), memory.known ? percent(memory.resident / memory.whole) : "–", "of all files");
  stat(byId("tile-memory-sub"), "shm_used_byte_size", stats.shm_used_byte_size,
    `${size(stats.shm_used_byte_size)} of ${size(stats.shm_limit_byte_size)} for batches`);
  const reads = sum(stats.columns, (c) => c.reads) - sum(before.columns, (c) => c.reads);
  return { perSecond, waiting, busiest, failed, reads };
}

const REASONS = {
  queue: "most of their time requests wait for a worker: more --threads, or fewer trainers",
  memory: "requests wait for memory: trainers hold their batches, see below",
  sampling: "most of the time goes into sampling",
  gathering: "most of the time goes into gathering rows",
  disk: "most of the time goes into rows that are read from the disk",
  delivery: "most of the time goes into handing answers over",
};

function showVerdict(stats, tiles) {
  let text = "";
  if (!stats.num_sessions) text = "Ready. No trainer is connected.";
  else if (!tiles.perSecond) text = `${trainersText(stats)} connected, no batch in the last seconds.`;
  else if (tiles.waiting > 0.15) text = `${trainersText(stats)} at ${rate(tiles.perSecond)} batches/s, waiting for data ${percent(tiles.waiting)} of the time: ${REASONS[tiles.reads && tiles.busiest.stage === "gathering" ? "disk" : tiles.busiest.stage]}.`;
  else text = `${trainersText(stats)} at ${rate(tiles.perSecond)} batches/s. The daemon keeps up; the models set the pace.`;
  byId("verdict").textContent = text;
}

function trainersText(stats) {
  return stats.num_sessions === 1 ? "One trainer" : `${count(stats.num_sessions)} trainers`;
}

function showRequests(stats, before) {
  const places = stats.open_requests;
  const rows = [
    ["running", places.running, "run"], ["wait for a worker", places.waiting_for_worker, "on"],
    ["wait for shared memory", places.waiting_for_shared_memory, "on"],
    ["wait for working memory", places.waiting_for_working_memory, "on"], ["wait for the disk", places.waiting_for_disk, "on"],
    ["wait for other daemons", places.waiting_for_peer, "on"],
  ];
  byId("places").replaceChildren(...rows.map(([name, number, mark]) => {
    const group = element("div", "", number ? mark : "");
    group.append(element("dt", name), stat(element("dd"), name, number, count(number)));
    return group;
  }));
  let times = stageTimes(stats, before);
  if (!sum(times, (t) => t.us)) times = stageTimes(stats, { stages: [] });
  const total = sum(times, (t) => t.us);
  const share = (t) => (total ? t.us / total : 0);
  byId("stages").replaceChildren(...times.map((t, i) => {
    const part = element("span", "", `s${i + 1}`);
    part.style.width = `${100 * share(t)}%`;
    return part;
  }));
  byId("stages").setAttribute("aria-label", times.map((t) => `${t.stage} ${percent(share(t))}`).join(", "));
  byId("stages-legend").replaceChildren(...times.map((t, i) => {
    const item = element("li");
    item.append(element("i", "", `s${i + 1}`), document.createTextNode(`${t.stage} ${total ? percent(share(t)) : "–"}`));
    return item;
  }));
}

function showEnded(stats) {
  const ended = stats.ended_requests.map((r) => {
    const item = stat(element("li", "", r.code === "OK" || r.code === "CANCELLED" ? "" : "bad"), "ended", r.count, "");
    item.dataset.kind = r.kind;
    item.dataset.code = r.code;
    item.textContent = `${r.kind} ${r.code} ${count(r.count)}`;
    return item;
  });
  byId("ended").replaceChildren(...(ended.length ? ended : [element("li", "none yet")]));
}

const AGES = ["under 1 s", "1 to 10 s", "10 s to 1 min", "1 to 10 min", "longer"];

function pool(name, used, limit, parts, note, mark = null) {
  const whole = element("div", "", "pool");
  const title = element("p");
  title.append(element("span", name), element("span", `${size(used)} of ${size(limit)}`, "dim"));
  const bar = element("div", "", "bar");
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", `${name}: ${percent(used / limit)} used`);
  for (const [bytes, className] of parts) {
    const part = element("span", "", className);
    part.style.width = `${limit ? (100 * bytes) / limit : 0}%`;
    bar.append(part);
  }
  if (mark !== null && limit) {
    const line = element("span", "", "mark");
    line.style.left = `${Math.min(99.7, (100 * mark) / limit)}%`;
    bar.append(line);
  }
  whole.append(title, bar);
  if (note) whole.append(element("p", note, "note"));
  return whole;
}

function showPools(stats) {
  const { shared_memory: shared, working_memory: working, row_cache: cache } = stats;
  const held = shared.held_byte_size_by_age;
  const holding = sum(held, (b) => b);
  const ages = held.map((b, i) => (b ? `${size(b)} ${AGES[i]}` : "")).filter(Boolean).join(", ");
  const made = [
    pool("Shared memory for batches", stats.shm_used_byte_size, stats.shm_limit_byte_size,
      [[holding, "s3"], [Math.max(0, stats.shm_used_byte_size - holding), "s1"]],
      `${holding ? `held: ${ages}` : "nothing is held"}; line: ${size(shared.guaranteed_byte_size)} guaranteed`,
      shared.guaranteed_byte_size),
    pool("Working memory", working.used_byte_size, working.limit_byte_size,
      [[working.used_byte_size - working.idle_byte_size, "s3"], [working.idle_byte_size, "s1"]],
      `${size(working.idle_byte_size)} of it kept for the next request; ids that wait: ${size(working.ids_used_byte_size)}`),
  ];
  if (cache.capacity_byte_size) {
    const looked = cache.hits + cache.misses;
    made.push(pool("Row cache", cache.used_byte_size, cache.capacity_byte_size, [[cache.used_byte_size, "s4"]],
      `${count(cache.rows)} rows, ${looked ? percent(cache.hits / looked) : "–"} of ${count(looked)} lookups were hits`));
  } else {
    made.push(element("p", "No row cache: every column lies in memory, or is read through the page cache.", "empty"));
  }
  byId("pools").replaceChildren(...made);
}

function show(stats) {
  const before = answers[0] ?? stats;
  byId("about").textContent = `${stats.version} · pid ${stats.pid} · up ${duration(1000 * stats.uptime_ms)} · ${stats.threads} threads`;
  const memory = showFiles(stats);
  const tiles = showTiles(stats, before, memory);
  showVerdict(stats, tiles);
  showTrainers(stats, before);
  showRequests(stats, before);
  showEnded(stats);
  showPools(stats);
  showDisk(stats, before);
  showEvents(stats);
  charts.show(points);
}

// ---- asking ----

async function step() {
  const stats = await ask("api/stats");
  const wasGone = state === "gone";
  if (wasGone || !points.length) points = (await ask("api/history")).points;
  if (answers.length && answers[answers.length - 1].instance_id !== stats.instance_id) answers = [];
  const dataset = `${stats.instance_id} ${stats.files.map((f) => `${f.dataset}/${f.file}/${f.byte_size}`).join()}`;
  if (dataset !== datasetsOf) {
    showDatasets((await ask("api/datasets")).datasets);
    datasetsOf = dataset;
  }
  points.push(pointOf(stats));
  points = points.slice(-MOST_POINTS);
  answers.push(stats);
  answers = answers.slice(-WINDOW - 1);
  show(stats);
  setState(stateOf(stats, wasGone));
}

async function run() {
  for (;;) {
    try {
      if (!document.hidden) await step();
    } catch (error) {
      if (error instanceof NeedsToken) await login();
      else {
        setState("gone");
        byId("verdict").textContent = "The daemon does not answer. These numbers are the last it gave; this page goes on asking.";
      }
    }
    await new Promise((resolve) => { setTimeout(resolve, EVERY_MS); });
  }
}

// ---- token ----

// The token comes from the address after "#", which no browser sends to anybody, or from the form.
async function login() {
  setState("locked");
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    history.replaceState(null, "", location.pathname);
    if (await tryToken(given)) return;
  }
  const dialog = byId("login");
  if (!dialog.open) dialog.showModal();
  await new Promise((resolve) => {
    byId("login-form").onsubmit = async (event) => {
      event.preventDefault();
      const field = byId("token");
      if (await tryToken(field.value)) {
        field.value = "";
        dialog.close();
        resolve();
      } else byId("login-error").textContent = "That is not its token.";
    };
    dialog.oncancel = (event) => event.preventDefault();
  });
}

async function tryToken(token) {
  try {
    await ask("api/login", { Authorization: `Bearer ${token.trim()}` });
    return true;
  } catch {
    return false;
  }
}

// ---- theme ----

const THEMES = ["auto", "light", "dark"];

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme;
  byId("theme").setAttribute("aria-label", `Theme: ${theme === "auto" ? "automatic" : theme}`);
  localStorage.setItem("theme", theme);
  if (charts) { charts.make(); charts.show(points); }
}

byId("theme").addEventListener("click", () => {
  setTheme(THEMES[(THEMES.indexOf(localStorage.getItem("theme") ?? "auto") + 1) % THEMES.length]);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { charts.make(); charts.show(points); });
setTheme(THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto");
charts = new Charts(byId("chart-rate"), byId("chart-latency"));
run();
