// Graph canvas, part 2: the picture as it arrives (see widgets/canvas.py), decoded once, and questions about it.

const NODE_W = 100, NODE_H = 38, PILL_H = 24, NO_COMPARE = -2, CELL = 240;
const KIND_DATA = 1, EDGE_CONTROL = 1, EDGE_LONG = 4;

/** A Bytes trait is a DataView whose offset need not be aligned: copy, then view. */
function typed(view, Type) {
  if (!view || !view.byteLength) return new Type(0);
  const from = new Uint8Array(view.buffer || view, view.byteOffset || 0, view.byteLength);
  return new Type(from.slice().buffer);
}

class Picture {
  constructor(model) {
    const meta = model.get("meta") || {};
    this.meta = meta;
    this.empty = !meta.ids;
    if (this.empty) return;
    this.n = meta.ids.length;
    this.positions = typed(model.get("positions"), Float32Array);
    this.edges = typed(model.get("edges"), Uint32Array);
    this.points = typed(model.get("routes"), Float32Array);
    this.index = typed(model.get("route_index"), Uint32Array);
    this.palette = typed(model.get("palette"), meta.absent > 255 ? Uint16Array : Uint8Array);
    this.absent = meta.absent;
    this.noStream = meta.absent - 1;
    this.at = new Map(meta.ids.map((id, i) => [id, i]));
    for (const [row, box] of Object.entries(meta.boxes || {})) for (const id of box.members) if (!this.at.has(id)) this.at.set(id, +row);
    this.grids = new Map();
    this.adjacent = new Map();
    this.eventByUid = new Map();
    meta.events.forEach((e, i) => this.eventByUid.set(e[0], i));
  }
  get last() { return this.meta.steps.length - 2; }
  clamp(step) { return Math.max(-1, Math.min(step, this.last)); }
  step(k) { return this.meta.steps[this.clamp(k) + 1]; }
  frame(k) { return this.meta.frames[this.step(k).frame]; }
  colours(k) { const at = (this.clamp(k) + 1) * this.n; return this.palette.subarray(at, at + this.n); }
  /** x, y of all nodes of a frame in a layout. */
  xy(frameNo, layout) {
    const size = this.n * 2, at = (frameNo * 2 + (layout === "lanes" ? 0 : 1)) * size;
    return this.positions.subarray(at, at + size);
  }
  height(i, layout) { return layout === "lanes" && this.meta.kinds[i] === KIND_DATA ? PILL_H : NODE_H; }
  /** References a drawn node stands for: itself, or what a folded box holds. */
  refs(i) { const box = (this.meta.boxes || {})[i]; return (box ? box.members.slice(0, 200) : [this.meta.ids[i]]).map((id) => `node:${id}`); }
  /** First and one-past-last corner of route ``k`` of a frame. */
  route(k) { return [this.index[k], this.index[k + 1]]; }
  /** Events alive after a step: Map event index -> GE's id. */
  events(k) {
    const s = this.step(k);
    return (s.alive ??= new Map(s.events));
  }
  /** Events alive at ``compare`` and gone at ``step``. */
  gone(step, compare) {
    if (compare === NO_COMPARE || compare === step) return [];
    const now = new Set([...this.events(step).keys()].map((i) => this.meta.events[i][0]));
    return [...this.events(compare).keys()].filter((i) => !now.has(this.meta.events[i][0]));
  }
  /** Pairs that an event of this step orders: their data edge is drawn as the event. */
  ordered(k) {
    const s = this.step(k);
    return (s.pairs ??= new Set([...this.events(k).keys()].map((i) => this.meta.events[i][1] * this.n + this.meta.events[i][2])));
  }
  /** GE's number of an identity after a step, or -1. */
  geStream(k, identity) { const row = this.step(k).streams.find((s) => s[0] === identity); return row ? row[1] : -1; }
  identity(k, ge) { const row = this.step(k).streams.find((s) => s[1] === ge); return row ? row[0] : -1; }
  /** Nodes by grid cell, for picking and culling. */
  grid(frameNo, layout) {
    const key = frameNo + layout;
    if (this.grids.has(key)) return this.grids.get(key);
    const xy = this.xy(frameNo, layout), cells = new Map();
    for (let i = 0; i < this.n; i++) {
      const x = xy[2 * i];
      if (x !== x) continue;
      const c = Math.floor(x / CELL) * 65536 + Math.floor(xy[2 * i + 1] / CELL);
      const list = cells.get(c);
      if (list) list.push(i); else cells.set(c, [i]);
    }
    this.grids.set(key, cells);
    return cells;
  }
  /** Nodes whose cell touches a world rectangle; null when that is most of them. */
  near(frameNo, layout, x0, y0, x1, y1) {
    const cells = this.grid(frameNo, layout), out = [];
    const a = Math.floor((x0 - NODE_W) / CELL), b = Math.floor((x1 + NODE_W) / CELL), c = Math.floor((y0 - NODE_H) / CELL), d = Math.floor((y1 + NODE_H) / CELL);
    if ((b - a + 1) * (d - c + 1) > cells.size) {
      for (const list of cells.values()) out.push(...list);
      return out;
    }
    for (let cx = a; cx <= b; cx++) for (let cy = c; cy <= d; cy++) { const list = cells.get(cx * 65536 + cy); if (list) out.push(...list); }
    return out;
  }
  /** Topmost node at a world point, or -1. */
  pick(k, layout, x, y, slackX, slackY) {
    const frameNo = this.step(k).frame, xy = this.xy(frameNo, layout), colours = this.colours(k);
    let best = -1, far = Infinity;
    for (const i of this.near(frameNo, layout, x, y, x, y)) {
      if (colours[i] === this.absent) continue;
      const dx = Math.abs(xy[2 * i] - x) - NODE_W / 2, dy = Math.abs(xy[2 * i + 1] - y) - this.height(i, layout) / 2;
      const d = Math.max(dx / slackX, dy / slackY);
      if (d <= 1 && d < far) { best = i; far = d; }
    }
    return best;
  }
}

/** A model for pages without a kernel: ``state`` as made by ``GraphPicture.state_json``. */
export function stubModel(state) {
  const values = { ...state }, listeners = new Map();
  for (const [k, v] of Object.entries(values)) {
    if (v && typeof v.base64 === "string") values[k] = new DataView(Uint8Array.from(atob(v.base64), (c) => c.charCodeAt(0)).buffer);
  }
  return {
    get: (k) => values[k],
    set: (k, v) => {
      if (JSON.stringify(values[k]) === JSON.stringify(v) && typeof v !== "object") return;
      values[k] = v;
      for (const f of [...(listeners.get("change:" + k) || [])]) f();
    },
    on: (names, f) => names.split(" ").forEach((name) => listeners.set(name, [...(listeners.get(name) || []), f])),
    off: (names, f) => (names ? names.split(" ") : [...listeners.keys()]).forEach((name) => listeners.set(name, (listeners.get(name) || []).filter((g) => f && g !== f))),
    save_changes: () => {},
  };
}
