// The parts of the page that are lists: trainers, files, columns, events, datasets.
import { count, difference, duration, percent, quantile, rate, secondsBetween, size, sum } from "./numbers.js";

const MOST_ROWS = 200;

// Sets text and never HTML, because names come from trainers and files and are shown as they are.
export function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function cell(text, className = "n") {
  return element("td", text, className);
}

function head(text, title = "") {
  const made = element("th", text);
  made.scope = "row";
  made.title = title || text;
  return made;
}

// Shows `text`, and keeps the exact number in data attributes: tests compare it with the statistics.
export function stat(target, name, value, text) {
  target.textContent = text;
  target.dataset.stat = name;
  target.dataset.value = value;
  return target;
}

function fill(table, rows, columns) {
  const body = table.tBodies[0];
  const shown = rows.slice(0, MOST_ROWS);
  if (rows.length > MOST_ROWS) {
    const more = element("tr");
    const text = cell(`… and ${count(rows.length - MOST_ROWS)} more`, "dim");
    text.colSpan = columns;
    more.append(text);
    shown.push(more);
  }
  body.replaceChildren(...shown);
}

function meter(share) {
  const whole = element("span", "", "meter");
  const track = element("span", "", "track");
  const part = element("span", "", share > 0.5 ? "fill warn" : "fill");
  part.style.width = `${100 * Math.min(1, share)}%`;
  track.append(part);
  track.setAttribute("aria-hidden", "true");
  whole.append(track, element("span", percent(share)));
  return whole;
}

export function waitShare(session, before, seconds) {
  const earlier = before ? before.waited_us : 0;
  return Math.min(1, Math.max(0, session.waited_us - earlier) / (1e6 * seconds));
}

export function showTrainers(stats, before) {
  const table = document.getElementById("trainers");
  const earlier = new Map(before.sessions.map((s) => [s.session_id, s]));
  const seconds = secondsBetween(stats, before);
  document.getElementById("count-trainers").textContent =
    stats.num_sessions ? `${count(stats.num_sessions)} of up to ${count(stats.max_sessions)}` : "";
  document.getElementById("no-trainers").hidden = stats.num_sessions > 0;
  table.hidden = stats.num_sessions === 0;
  fill(table, stats.sessions.map((session) => {
    const last = earlier.get(session.session_id);
    const span = last ? seconds : Math.max(0.001, session.age_ms / 1000);
    const row = element("tr");
    row.dataset.session = session.session_id;
    const waits = element("td");
    waits.append(meter(waitShare(session, last, span)));
    const held = cell(size(session.block_byte_size));
    held.title = session.blocks ? `${session.blocks} blocks, the oldest for ${duration(1000 * session.oldest_block_ms)}` : "";
    row.append(
      head(session.client_name || `session ${session.session_id}`, `session ${session.session_id}`),
      cell(session.dataset, ""),
      cell(rate((session.requests - (last ? last.requests : 0)) / span)),
      cell(duration(quantile(difference(session.request_latency, last?.request_latency), 0.5))),
      waits,
      cell(count(session.in_flight)),
      held,
      cell(size(session.guarantee_byte_size)),
      stat(cell(""), "session-requests", session.requests, count(session.requests)),
      cell(count(session.failed_requests), session.failed_requests ? "n bad" : "n dim"),
    );
    return row;
  }), 10);
}

// Draws which parts of a file are in memory: a cell for each part, as opaque as the part is resident.
function draw(canvas, parts) {
  const scale = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(canvas.clientWidth * scale));
  const height = Math.round(14 * scale);
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--s4").trim();
  parts.forEach((full, i) => {
    const [from, to] = [i, i + 1].map((n) => Math.round((n * width) / parts.length));
    context.globalAlpha = full / 100;
    context.fillRect(from, 0, to - from, height);
  });
}

export function showFiles(stats) {
  const known = stats.files.filter((f) => f.resident_percent.length);
  const [resident, whole] = [sum(known, (f) => f.resident_byte_size), sum(stats.files, (f) => f.byte_size)];
  document.getElementById("count-files").textContent = `${size(resident)} of ${size(whole)}`;
  const table = document.getElementById("files");
  const bars = [];
  fill(table, stats.files.map((file) => {
    const row = element("tr");
    const told = file.resident_percent.length > 0;
    const bar = element("td");
    if (told) {
      const canvas = element("canvas", "", "parts");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${percent(file.resident_byte_size / file.byte_size)} in memory`);
      bar.append(canvas);
      bars.push([canvas, file.resident_percent]);
    } else {
      bar.append(element("span", "not known: the kernel tells only the file's owner", "dim"));
    }
    row.append(
      head(`${file.dataset}/${file.file}`), bar,
      cell(told ? percent(file.resident_byte_size / file.byte_size) : "–"),
      stat(cell(""), "file-bytes", file.byte_size, size(file.byte_size)),
    );
    return row;
  }), 4);
  bars.forEach(([canvas, parts]) => canvas.isConnected && draw(canvas, parts));
  return { resident, whole, known: known.length > 0 };
}

export function showDisk(stats, before) {
  const seconds = secondsBetween(stats, before);
  const earlier = new Map(before.columns.map((c) => [`${c.dataset}/${c.column}`, c]));
  const used = stats.columns.filter((c) => c.gathers);
  document.getElementById("count-disk").textContent = `by ${stats.io_engine}`;
  const rows = used.map((column) => {
    const name = `${column.dataset}/${column.column}`;
    const last = earlier.get(name);
    const since = (field) => column[field] - (last ? last[field] : 0);
    // Shares of the rows gathered since the earlier answer, or since the start if there were none.
    const base = since("rows") ? since : (field) => column[field];
    const latency = difference(column.read_latency, since("reads") ? last?.read_latency : undefined);
    const row = element("tr");
    const way = cell(column.path, "");
    way.title = column.reason;
    row.append(
      head(name), way,
      cell(count(since("rows") / seconds)),
      cell(percent(base("mapped_rows") / base("rows"))),
      cell(column.path === "direct" ? percent(base("cache_hits") / base("rows")) : "–"),
      cell(count(since("reads") / seconds)),
      cell(base("gathers") ? rate(base("reads") / base("gathers")) : "–"),
      cell(size(since("read_byte_size") / seconds)),
      cell(duration(quantile(latency, 0.5))),
      cell(duration(quantile(latency, 0.99))),
    );
    return row;
  });
  if (!rows.length) {
    const row = element("tr");
    const text = cell("nothing was gathered yet", "dim");
    text.colSpan = 10;
    row.append(text);
    rows.push(row);
  }
  fill(document.getElementById("disk"), rows, 10);
}

function longestStage(event) {
  const stages = ["queue", "memory", "sampling", "gathering"].map((name) => [name, event[`${name}_us`]]);
  const [name, us] = stages.reduce((a, b) => (b[1] > a[1] ? b : a));
  return us ? `${name}, ${duration(us)}` : "–";
}

export function showEvents(stats) {
  const events = [...stats.failures.map((e) => [e, "failed"]), ...stats.slow_requests.map((e) => [e, "slow"])]
    .filter(([e, kind]) => kind === "failed" || e.code === "OK")
    .sort((a, b) => b[0].ended_unix_ms - a[0].ended_unix_ms);
  const merged = [];
  for (const [event, kind] of events) {
    const last = merged[merged.length - 1];
    const same = last && kind === "failed" && last.kind === kind
      && ["client_name", "code", "message"].every((name) => last.event[name] === event[name]);
    if (same) last.times += 1;
    else merged.push({ event, kind, times: 1 });
  }
  document.getElementById("no-events").hidden = events.length > 0;
  const table = document.getElementById("events");
  table.hidden = events.length === 0;
  fill(table, merged.map(({ event, kind, times }) => {
    const row = element("tr");
    row.append(
      cell(new Date(event.ended_unix_ms).toLocaleTimeString([], { hourCycle: "h23" }), ""),
      cell(kind === "slow" ? `slow ${event.kind}` : `${event.kind}: ${event.code}${times > 1 ? ` ×${times}` : ""}`, kind === "slow" ? "warn" : "bad"),
      cell(event.client_name, ""), cell(duration(event.total_us)), cell(longestStage(event), ""),
      cell(event.message, "text"),
    );
    return row;
  }), 6);
}

const ROLES = ["", "node", "edge", "ids", "categories"];

export function showDatasets(datasets) {
  document.getElementById("datasets").replaceChildren(...datasets.map((dataset, i) => {
    const whole = element("details");
    whole.open = i === 0 && datasets.length < 4;
    const title = element("summary", dataset.name);
    const types = dataset.types.length
      ? `, ${count(dataset.types.length)} types, ${count(dataset.relations.length)} relations` : "";
    title.append(element("span", ` ${count(dataset.num_nodes)} nodes, ${count(dataset.num_edges)} edges${types}`, "dim"));
    const table = element("table");
    const top = table.createTHead().insertRow();
    for (const name of ["column", "type", "shape", "of", "size"]) {
      const th = element("th", name, name === "size" ? "n" : "");
      th.scope = "col";
      top.append(th);
    }
    table.createTBody();
    const rows = [
      ...dataset.types.map((t) => [t.name, "type of nodes", count(t.num_nodes), t.has_times ? "has times" : "", ""]),
      ...dataset.relations.map((r) => [
        `${dataset.types[r.source].name} – ${r.name} → ${dataset.types[r.target].name}`, r.is_view ? "view" : "relation",
        count(r.num_edges), r.has_times ? "has times" : "", ""]),
      ...dataset.columns.map((c) => [c.name, c.dtype, c.shape.map(count).join(" × "), ROLES[c.role] ?? "", size(c.byte_size)]),
    ];
    fill(table, rows.map(([name, ...rest]) => {
      const row = element("tr");
      row.append(head(name), ...rest.map((text, n) => cell(text, n === 3 ? "n" : "")));
      return row;
    }), 5);
    const scroll = element("div", "", "scroll");
    scroll.append(table);
    whole.append(title, scroll);
    return whole;
  }));
}
