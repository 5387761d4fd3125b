// Line charts of the last ten minutes, drawn by uPlot.
import { difference, duration, quantile, rate } from "./numbers.js";

const HEIGHT = 170;
const SPAN_S = 600;
// The chart of a daemon that has just started spans at least this, instead of ten minutes with a
// short line at the right end.
const LEAST_SPAN_S = 60;

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Turns sums since the start into the rate and latency of each step. A step in which the daemon was
// started again, or for which there are no points, is a gap.
export function series(points) {
  const found = { t: [], rate: [], p50: [], p99: [] };
  for (let i = 1; i < points.length; i += 1) {
    const [now, before] = [points[i], points[i - 1]];
    const seconds = (now.unix_ms - before.unix_ms) / 1000;
    if (seconds <= 0) continue;
    const whole = now.results >= before.results && seconds < 15;
    const latency = whole ? difference(now.latency, before.latency) : [];
    const of = (part) => { const us = quantile(latency, part); return us === null ? null : us / 1000; };
    found.t.push(now.unix_ms / 1000);
    found.rate.push(whole ? (now.results - before.results) / seconds : null);
    found.p50.push(of(0.5));
    found.p99.push(of(0.99));
  }
  return found;
}

function axis(values, size) {
  return {
    stroke: css("--muted"), space: size > 40 ? 32 : 64, font: "11px system-ui, sans-serif", size,
    grid: { stroke: css("--line"), width: 1 }, ticks: { show: false }, values,
  };
}

function times(_, ticks) {
  return ticks.map((t) => new Date(1000 * t).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }));
}

export class Charts {
  constructor(rateElement, latencyElement) {
    this.elements = [rateElement, latencyElement];
    this.data = { t: [], rate: [], p50: [], p99: [] };
    this.make();
    new ResizeObserver(() => this.resize()).observe(rateElement);
  }

  // Called again when the theme has changed, because uPlot keeps the colours that it was given.
  make() {
    this.plots?.forEach((plot) => plot.destroy());
    const range = () => {
      const now = this.now();
      const span = this.data.t.length ? now - this.data.t[0] : 0;
      return [now - Math.min(SPAN_S, Math.max(LEAST_SPAN_S, span)), now];
    };
    const scales = { x: { range }, y: { range: (_, least, most) => [0, Math.max(1.15 * (most ?? 0), 1)] } };
    const common = { width: this.width(0), height: HEIGHT, scales, legend: { show: false }, cursor: { show: false } };
    const line = (colour, fill) => ({ stroke: css(colour), width: 1.75, fill, points: { show: false } });
    this.plots = [
      new uPlot({ ...common,
        axes: [axis(times, 28), axis((_, v) => v.map(rate), 46)],
        series: [{}, line("--a", css("--a-soft"))],
      }, [this.data.t, this.data.rate], this.elements[0]),
      new uPlot({ ...common, width: this.width(1),
        axes: [axis(times, 28), axis((_, v) => v.map((ms) => duration(1000 * ms)), 58)],
        series: [{}, line("--a"), line("--b")],
      }, [this.data.t, this.data.p50, this.data.p99], this.elements[1]),
    ];
  }

  now() {
    return this.data.t.length ? this.data.t[this.data.t.length - 1] : Date.now() / 1000;
  }

  width(i) {
    return Math.max(200, this.elements[i].clientWidth);
  }

  resize() {
    this.plots.forEach((plot, i) => plot.setSize({ width: this.width(i), height: HEIGHT }));
  }

  show(points) {
    this.data = series(points);
    this.plots[0].setData([this.data.t, this.data.rate]);
    this.plots[1].setData([this.data.t, this.data.p50, this.data.p99]);
  }
}
