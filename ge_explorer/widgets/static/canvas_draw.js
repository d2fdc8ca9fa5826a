// Graph canvas, part 3: drawing. World -> screen is x * kx + ox, y * ky + oy; text keeps its size, so names appear as boxes grow.

const EDGE_CAP = 6000, ARROW = 6;

class Painter {
  constructor(canvas, ctx) {
    this.canvas = canvas;
    this.ctx = ctx;
    this.widths = new Map();
    this.tiny = document.createElement("canvas");
  }
  /** Draw one frame. ``s``: {pic, theme, step, compare, layout, view, w, h, dpr, gutter, selection, hover, t, top, bottom}. */
  paint(s) {
    const { ctx } = this, pic = s.pic;
    this.s = s;
    this.badges = [];
    this.heads = [];
    ctx.setTransform(s.dpr, 0, 0, s.dpr, 0, 0);
    ctx.fillStyle = s.theme.bg;
    ctx.fillRect(0, 0, s.w, s.h);
    if (pic.empty) return;
    this.frameNo = pic.step(s.step).frame;
    this.frame = pic.meta.frames[this.frameNo];
    this.xy = pic.xy(this.frameNo, s.layout);
    this.colours = pic.colours(s.step);
    const v = s.view;
    this.x0 = (s.gutter - v.ox) / v.kx; this.x1 = (s.w - v.ox) / v.kx; this.y0 = -v.oy / v.ky; this.y1 = (s.h - v.oy) / v.ky;
    this.boxW = NODE_W * v.kx;
    this.boxH = NODE_H * v.ky;
    this.visible = pic.near(this.frameNo, s.layout, this.x0, this.y0, this.x1, this.y1);
    if (s.layout === "lanes") this.lanes();
    ctx.save();
    ctx.beginPath();
    ctx.rect(s.gutter, 0, s.w - s.gutter, s.h);
    ctx.clip();
    this.edges();
    if (s.layout === "lanes") this.folds();
    if (this.boxH < 3 || this.boxW < 3) this.pixels(); else this.nodes();
    this.events();
    this.signs();
    this.marked();
    ctx.restore();
    if (s.layout === "lanes") this.laneHeads();
  }
  X(x) { return x * this.s.view.kx + this.s.view.ox; }
  Y(y) { return y * this.s.view.ky + this.s.view.oy; }
  swatch(i) { const c = this.colours[i]; return c === this.s.pic.noStream ? this.s.theme.none : this.s.theme.streams[c] || this.s.theme.none; }

  /** Text cut to ``room`` pixels with an ellipsis; measured once per font and text. */
  fit(text, room, font) {
    const { ctx } = this;
    ctx.font = font;
    const wide = this.width(text, font);
    if (wide <= room) return text;
    let lo = 0, hi = text.length;
    while (lo < hi) { const m = (lo + hi + 1) >> 1; if (this.width(text.slice(0, m) + "…", font) <= room) lo = m; else hi = m - 1; }
    return lo ? text.slice(0, lo) + "…" : "";
  }
  width(text, font) {
    const key = font + "\n" + text;
    let w = this.widths.get(key);
    if (w === undefined) {
      if (this.widths.size > 50000) this.widths.clear();
      this.ctx.font = font;
      this.widths.set(key, (w = this.ctx.measureText(text).width));
    }
    return w;
  }
  font(px, weight = 400) { return `${weight} ${px}px ${this.s.theme.font}`; }

  lanes() {
    const { ctx, s } = this;
    let shade = true;
    for (const lane of this.frame.lanes) {
      const a = this.Y(lane.top), b = this.Y(lane.bottom);
      if (lane.key >= 0) {
        if (shade) { ctx.fillStyle = s.theme.lane; ctx.fillRect(0, a, s.w, b - a); }
        shade = !shade;
      }
    }
    ctx.strokeStyle = s.theme.line;
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (const lane of this.frame.lanes) for (const y of lane.key < 0 ? [] : [lane.top, lane.bottom]) { const p = Math.round(this.Y(y)) + 0.5; ctx.moveTo(0, p); ctx.lineTo(s.w, p); }
    ctx.stroke();
  }
  laneHeads() {
    const { ctx, s } = this, meta = s.pic.meta, state = s.pic.step(s.step);
    let shade = true;
    for (const lane of this.frame.lanes) {
      const a = this.Y(lane.top), b = this.Y(lane.bottom), room = s.gutter - 12;
      ctx.fillStyle = s.theme.bg;
      ctx.fillRect(0, a + 1, s.gutter - 4, b - a - 1);
      if (lane.key >= 0) {
        if (shade) { ctx.fillStyle = s.theme.lane; ctx.fillRect(0, a + 1, s.gutter - 4, b - a - 1); }
        shade = !shade;
      }
      if (b < 0 || a > s.h || b - a < 12) continue;
      ctx.textAlign = "left";
      ctx.textBaseline = "alphabetic";
      if (lane.key < 0) {
        ctx.fillStyle = s.theme.ink2;
        ctx.fillText(this.fit(s.t("noStream"), room, this.font(11)), 8, (b - a < 40 ? (a + b) / 2 : a + 16) + 4);
        continue;
      }
      const id = meta.streams[lane.key], row = state.streams.find((r) => r[0] === lane.key), sw = row ? s.theme.streams[lane.key] : s.theme.none;
      const tall = Math.min(b - a, s.h - Math.max(a, 0)), y = Math.max(a, 30) + (tall < 58 ? Math.max(2, (Math.min(tall, 30) - 20) / 2) : 6);
      if (y + 20 > b) continue;
      this.mark(8, y, 20, sw, id.letter, !row);
      const name = s.lang(id.role);
      ctx.fillStyle = row ? s.theme.ink : s.theme.ink2;
      ctx.fillText(this.fit(name, room - 26, this.font(12, 600)), 34, y + 14);
      this.heads.push({ x: 0, y: Math.max(a, 0), w: s.gutter, h: b - Math.max(a, 0), key: lane.key });
      const ge = row ? `${s.t("geId")} ${row[1]}` : s.t(meta.alone ? "notHere" : "notYet");
      const second = !row ? "" : id.label ? `${s.t("label")} ${id.label}` : s.count(row[2]);
      ctx.fillStyle = s.theme.ink2;
      const low = Math.min(b, s.h); // a line that would be cut at the edge of the canvas is left out
      if (y + 38 <= low) ctx.fillText(this.fit(ge, room, this.font(11)), 8, y + 35);
      if (second && y + 52 <= low) ctx.fillText(this.fit(second, room, this.font(11)), 8, y + 50);
    }
  }
  /** Stream mark: tint, hatch, 3 px edge, letter. */
  mark(x, y, size, sw, letter, hollow) {
    const { ctx, s } = this, pattern = hatchOf(ctx, sw, s.dpr);
    ctx.fillStyle = sw.mark;
    ctx.beginPath(); ctx.roundRect(x, y, size, size, 3); ctx.fill();
    if (pattern) { ctx.save(); ctx.globalAlpha = 0.55; ctx.translate(x, y); ctx.fillStyle = pattern; ctx.beginPath(); ctx.roundRect(0, 0, size, size, 3); ctx.fill(); ctx.restore(); }
    if (hollow) { ctx.strokeStyle = s.theme.ink3; ctx.lineWidth = 1; ctx.setLineDash([2, 2]); ctx.beginPath(); ctx.roundRect(x + 0.5, y + 0.5, size - 1, size - 1, 3); ctx.stroke(); ctx.setLineDash([]); }
    else { ctx.fillStyle = sw.solid; ctx.fillRect(x, y, 3, size); }
    ctx.font = this.font(size < 16 ? 10 : 12, 600);
    ctx.textAlign = "center";
    if (pattern) { ctx.strokeStyle = sw.mark; ctx.lineWidth = 3.5; ctx.lineJoin = "round"; ctx.strokeText(letter, x + size / 2 + 1.5, y + size / 2 + 4); }
    ctx.fillStyle = hollow ? s.theme.ink2 : s.theme.ink;
    ctx.fillText(letter, x + size / 2 + 1.5, y + size / 2 + 4);
    ctx.textAlign = "left";
  }
  folds() {
    const { ctx, s } = this, h = Math.max(12, PILL_H * s.view.ky);
    this.foldBoxes = [];
    for (const f of this.frame.folds) {
      const text = s.lang(f.text), need = this.width(text, this.font(11)) + 24, w = Math.max(f.w * s.view.kx, Math.min(need, 180));
      const x = this.X(f.x) - w / 2, y = this.Y(f.y) - h / 2;
      if (x > s.w || x + w < s.gutter) continue;
      const chosen = f.nodes.length > 0 && f.nodes.every((i) => s.selection.nodes.has(i));
      ctx.fillStyle = s.theme.bg;
      ctx.strokeStyle = chosen ? s.theme.outline : s.theme.ink3;
      ctx.lineWidth = chosen ? 2 : 1;
      ctx.setLineDash([2, 2]);
      ctx.beginPath(); ctx.roundRect(x, y, w, h, h / 2); ctx.fill(); ctx.stroke();
      ctx.setLineDash([]);
      if (h >= 12) { ctx.fillStyle = s.theme.ink2; ctx.textAlign = "center"; ctx.textBaseline = "alphabetic"; ctx.fillText(this.fit(text, w - 12, this.font(11)), x + w / 2, y + h / 2 + 4); ctx.textAlign = "left"; }
      this.foldBoxes.push({ x, y, w, h, fold: f });
    }
  }
  /** Nodes too small for shapes: straight into pixels. */
  pixels() {
    const { s, ctx } = this, W = Math.round(s.w * s.dpr), H = Math.round(s.h * s.dpr);
    if (this.tiny.width !== W || this.tiny.height !== H) { this.tiny.width = W; this.tiny.height = H; this.image = null; }
    const t = this.tiny.getContext("2d");
    this.image ??= t.createImageData(W, H);
    const data = new Uint32Array(this.image.data.buffer);
    data.fill(0);
    const dw = Math.max(1, Math.round(this.boxW * s.dpr)), dh = Math.max(1, Math.round(this.boxH * s.dpr));
    for (const i of this.visible) {
      if (this.colours[i] === s.pic.absent) continue;
      const x = Math.round(this.X(this.xy[2 * i]) * s.dpr - dw / 2), y = Math.round(this.Y(this.xy[2 * i + 1]) * s.dpr - dh / 2), pixel = this.swatch(i).pixel;
      for (let b = Math.max(0, y); b < Math.min(H, y + dh); b++) data.fill(pixel, b * W + Math.max(0, x), b * W + Math.max(0, Math.min(W, x + dw)));
    }
    t.putImageData(this.image, 0, 0);
    ctx.drawImage(this.tiny, 0, 0, s.w, s.h);
  }
  nodes() {
    const { ctx, s } = this, rich = this.boxW >= 26 && this.boxH >= 12, byColour = new Map();
    for (const i of this.visible) {
      const c = this.colours[i];
      if (c === s.pic.absent || this.xy[2 * i] !== this.xy[2 * i]) continue;
      const list = byColour.get(c);
      if (list) list.push(i); else byColour.set(c, [i]);
    }
    for (const list of byColour.values()) {
      const sw = this.swatch(list[0]), pattern = rich ? hatchOf(ctx, sw, s.dpr) : null, w = this.boxW, edge = Math.min(3, w / 4);
      const folded = rich && s.pic.meta.boxes ? list.filter((i) => s.pic.meta.boxes[i]) : [];
      if (folded.length) { // a second outline behind: more than one node
        ctx.beginPath();
        for (const i of folded) { const h = this.boxH; ctx.roundRect(this.X(this.xy[2 * i]) - w / 2 + 3, this.Y(this.xy[2 * i + 1]) - h / 2 - 3, w, h, 3); }
        ctx.fillStyle = s.theme.bg; ctx.fill();
        ctx.strokeStyle = sw.border; ctx.lineWidth = 1; ctx.stroke();
      }
      ctx.beginPath();
      for (const i of list) { const h = s.pic.height(i, s.layout) * s.view.ky; ctx.roundRect(this.X(this.xy[2 * i]) - w / 2, this.Y(this.xy[2 * i + 1]) - h / 2, w, h, rich ? (this.pill(i) ? h / 2 : 3) : 0); }
      ctx.fillStyle = rich || sw.none ? sw.fill : sw.mark;
      ctx.fill();
      ctx.strokeStyle = sw.border;
      ctx.lineWidth = this.boxH < 8 ? 0.5 : 1;
      ctx.stroke();
      if (!sw.none) {
        ctx.fillStyle = sw.solid;
        for (const i of list) { const h = this.boxH, x = this.X(this.xy[2 * i]) - w / 2, y = this.Y(this.xy[2 * i + 1]) - h / 2; ctx.beginPath(); ctx.roundRect(x - 0.5, y - 0.5, edge + 0.5, h + 1, rich ? [3, 0, 0, 3] : 0); ctx.fill(); }
        if (pattern) {
          ctx.fillStyle = pattern;
          ctx.globalAlpha = 0.8;
          for (const i of list) { const x = this.X(this.xy[2 * i]) - w / 2 + 3, y = this.Y(this.xy[2 * i + 1]) - this.boxH / 2 + 1; ctx.save(); ctx.translate(x, y); ctx.fillRect(0, 0, 6, this.boxH - 2); ctx.restore(); }
          ctx.globalAlpha = 1;
        }
      }
      if (rich) for (const i of list) this.label(i);
    }
  }
  pill(i) { return this.s.layout === "lanes" && this.s.pic.meta.kinds[i] === KIND_DATA; }
  label(i) {
    const { ctx, s } = this, w = this.boxW, h = s.pic.height(i, s.layout) * s.view.ky, c = this.colours[i], meta = s.pic.meta;
    const x = this.X(this.xy[2 * i]) - w / 2, y = this.Y(this.xy[2 * i + 1]);
    ctx.textBaseline = "alphabetic";
    if (this.pill(i)) {
      const name = this.fit(meta.names[i], w - 20, this.font(11, 600));
      ctx.fillStyle = s.theme.ink;
      ctx.fillText(name, x + 12, y + 4);
      const left = w - 20 - this.width(name, this.font(11, 600)) - 4;
      if (left > 24) { ctx.fillStyle = s.theme.ink2; ctx.fillText(this.fit(meta.ops[i], left, this.font(11)), x + 16 + this.width(name, this.font(11, 600)), y + 4); }
      return;
    }
    const stream = c < s.pic.noStream, letter = stream && (s.layout === "layered" || c !== this.laneOf(i)) && w >= 56;
    const at = x + (stream ? 13 : 8), two = h >= 36 || (h >= 30 && w >= 40), room = w - (stream ? 16 : 12);
    let bold = this.font(12, 600);
    if (w < 80 || this.width(meta.names[i], bold) > room) bold = this.font(11, 600); // a little smaller rather than cut
    if (letter) {
      const size = two && h < 36 ? 12 : 15;
      this.mark(x + w - size - 4, two ? y + h / 2 - size - 2 : y - 7.5, size, s.theme.streams[c], meta.streams[c].letter, false);
      ctx.textBaseline = "alphabetic";
    }
    ctx.fillStyle = s.theme.ink;
    ctx.textAlign = "left";
    ctx.fillText((meta.boxes && meta.boxes[i] ? this.tail : this.shortName).call(this, meta.names[i], room - (letter && !two ? 17 : 0), bold), at, two ? y - 3 : y + 4);
    if (two) { ctx.fillStyle = s.theme.ink2; ctx.fillText(this.fit(meta.ops[i], room - (letter ? 17 : 0), this.font(11)), at, y + 11); }
  }
  /** A long path is cut in front: the last part tells nodes apart. */
  shortName(name, room, font) {
    const cut = name.lastIndexOf("/");
    return cut > 0 && this.width(name, font) > room ? this.fit(name.slice(cut + 1), room, font) : this.fit(name, room, font);
  }
  /** Folded instances differ in the middle of their path (layers/0/block): as many of its last parts as fit. */
  tail(name, room, font) {
    const parts = name.split(/[/.]/);
    this.ctx.font = font;
    for (let k = 0; k < parts.length; k++) {
      const text = name.slice(parts.slice(0, k).join("/").length + (k ? 1 : 0));
      if (this.width(text, font) <= room) return text;
    }
    return this.fit(parts[parts.length - 1], room, font);
  }
  laneOf(i) {
    const y = this.xy[2 * i + 1];
    const lane = this.frame.lanes.find((l) => y >= l.top && y < l.bottom);
    return lane ? lane.key : -1;
  }

  // ------------------------------------------------------------ lines
  /** Add route ``k`` to the current path; returns its last two screen points or null. */
  trace(k) {
    const { ctx, s } = this, p = s.pic.points, [a, b] = s.pic.route(k);
    if (b - a < 2) return null;
    let px = this.X(p[2 * a]), py = this.Y(p[2 * a + 1]), qx = px, qy = py;
    ctx.moveTo(px, py);
    if (s.layout === "layered") {
      for (let i = a + 1; i < b; i++) {
        const x = this.X(p[2 * i]), y = this.Y(p[2 * i + 1]);
        if (Math.abs(y - py) < 0.5) ctx.lineTo(x, y);
        else { const m = Math.max(6, Math.min(60, Math.abs(x - px) / 2)); ctx.bezierCurveTo(px + m, py, x - m, y, x, y); }
        qx = x - 4; qy = y; px = x; py = y;
      }
      return [qx, qy, px, py];
    }
    for (let i = a + 1; i < b; i++) {
      const x = this.X(p[2 * i]), y = this.Y(p[2 * i + 1]);
      if (i < b - 1) {
        const nx = this.X(p[2 * i + 2]), ny = this.Y(p[2 * i + 3]);
        const r = Math.min(12, Math.hypot(x - px, y - py) / 2, Math.hypot(nx - x, ny - y) / 2);
        ctx.arcTo(x, y, nx, ny, r);
      } else ctx.lineTo(x, y);
      qx = px; qy = py; px = x; py = y;
    }
    return [qx, qy, px, py];
  }
  arrows(tips, colour, size = ARROW, hollow = false) {
    const { ctx, s } = this;
    ctx.setLineDash([]);
    ctx.beginPath();
    for (const [qx, qy, x, y] of tips) {
      const d = Math.hypot(x - qx, y - qy) || 1, ux = (x - qx) / d, uy = (y - qy) / d, w = size / 2;
      ctx.moveTo(x, y);
      ctx.lineTo(x - ux * size - uy * w, y - uy * size + ux * w);
      ctx.lineTo(x - ux * size + uy * w, y - uy * size - ux * w);
      ctx.closePath();
    }
    ctx.fillStyle = hollow ? s.theme.bg : colour;
    ctx.fill();
    if (hollow) { ctx.strokeStyle = colour; ctx.lineWidth = 1; ctx.stroke(); }
  }
  edges() {
    const { ctx, s } = this, e = s.pic.edges, [at, count] = this.frame.edges, base = this.frame.routes[s.layout][0];
    const ordered = s.pic.ordered(s.step), chosen = s.selection.nodes, big = this.boxH >= 12 && this.boxW >= 16, groups = { data: [], long: [], control: [], hi: [], hiControl: [] };
    const minimum = 2, blocks = this.boxW < 3, visible = count > 2000 ? this.inView() : null;
    let stride = 1;
    if (count > EDGE_CAP && this.visible.length > EDGE_CAP) stride = Math.ceil(count / EDGE_CAP);
    for (let k = 0; k < count; k++) {
      const j = 3 * (at + k), a = e[j], b = e[j + 1];
      const marked = chosen.size && (chosen.has(a) || chosen.has(b));
      if (blocks && !marked) continue;
      if (stride > 1 && k % stride && !marked) continue;
      if (visible && !visible[a] && !visible[b] && !marked) continue;
      if (this.colours[a] === s.pic.absent || this.colours[b] === s.pic.absent) continue;
      if (ordered.has(a * s.pic.n + b)) continue;
      const ax = this.X(this.xy[2 * a]), bx = this.X(this.xy[2 * b]), ay = this.Y(this.xy[2 * a + 1]), by = this.Y(this.xy[2 * b + 1]);
      if ((ax < s.gutter && bx < s.gutter) || (ax > s.w && bx > s.w) || (ay < -50 && by < -50) || (ay > s.h + 50 && by > s.h + 50)) continue;
      if (Math.abs(ax - bx) < minimum && Math.abs(ay - by) < minimum) continue;
      const control = e[j + 2] & EDGE_CONTROL;
      groups[marked ? (control ? "hiControl" : "hi") : control ? "control" : s.layout === "layered" && e[j + 2] & EDGE_LONG ? "long" : "data"].push(base + k);
    }
    const draw = (list, colour, width, dash, size, hollow) => {
      if (!list.length) return;
      ctx.beginPath();
      const tips = [];
      for (const k of list) { const tip = this.trace(k); if (tip) tips.push(tip); }
      ctx.strokeStyle = colour; ctx.lineWidth = width; ctx.setLineDash(dash); ctx.lineCap = dash.length === 2 && dash[0] === 1 ? "round" : "butt";
      ctx.stroke();
      ctx.setLineDash([]); ctx.lineCap = "butt";
      if (big) this.arrows(tips, colour, size, hollow);
    };
    draw(groups.long, s.theme.faded, 1, [], 5);
    draw(groups.data, big ? s.theme.ink3 : s.theme.line2, big ? 1.25 : 0.75, [], ARROW);
    draw(groups.control, s.theme.ink2, 1.5, [1, 3], 7, true);
    draw(groups.hi, s.theme.ink, 1.75, [], 7);
    draw(groups.hiControl, s.theme.ink, 1.75, [1, 3], 7, true);
  }
  inView() {
    const mask = new Uint8Array(this.s.pic.n);
    for (const i of this.visible) mask[i] = 1;
    return mask;
  }
  /** Where the number of an event sits: on the lane border it crosses, else in the middle of its longest part. */
  spot(k) {
    const { s } = this, p = s.pic.points, [a, b] = s.pic.route(k);
    let best = null, long = -1;
    for (let i = a; i + 1 < b; i++) {
      const x0 = p[2 * i], y0 = p[2 * i + 1], x1 = p[2 * i + 2], y1 = p[2 * i + 3];
      if (s.layout === "lanes" && Math.abs(x0 - x1) < 0.5) {
        const border = this.frame.lanes.find((l) => l.top > Math.min(y0, y1) && l.top < Math.max(y0, y1) && l.top > 0);
        if (border) return [this.X(x0), this.Y(border.top)];
      }
      const d = Math.hypot((x1 - x0) * s.view.kx, (y1 - y0) * s.view.ky);
      if (d > long) { long = d; best = [this.X((x0 + x1) / 2), this.Y((y0 + y1) / 2)]; }
    }
    return best;
  }
  events() {
    const { ctx, s } = this, base = this.frame.routes[s.layout][1], list = [...s.pic.events(s.step)], big = this.boxH >= 12 && this.boxW >= 16;
    const gone = s.pic.gone(s.step, s.compare);
    const shown = (i) => { const [, a, b] = s.pic.meta.events[i]; return this.colours[a] !== s.pic.absent && this.colours[b] !== s.pic.absent; };
    const draw = (items, colour, width, size) => {
      ctx.beginPath();
      const tips = [];
      for (const i of items) { const tip = this.trace(base + i); if (tip) tips.push(tip); }
      ctx.strokeStyle = colour; ctx.lineWidth = width; ctx.setLineDash([5, 3]);
      ctx.stroke();
      ctx.setLineDash([]);
      if (big) this.arrows(tips, colour, size);
    };
    const marked = (i) => s.selection.events.has(s.pic.meta.events[i][0]) || s.selection.nodes.has(s.pic.meta.events[i][1]) || s.selection.nodes.has(s.pic.meta.events[i][2]);
    const alive = list.filter(([i]) => shown(i));
    draw(gone.filter(shown), s.theme.gone, 1.25, 5);
    draw(alive.filter(([i]) => !marked(i)).map(([i]) => i), s.theme.ink, big ? 1.5 : 1, 7);
    draw(alive.filter(([i]) => marked(i)).map(([i]) => i), s.theme.ink, 2, 8);
    if (!big && alive.length > 40) return this.bundles(alive, base);
    for (const i of gone.filter(shown)) this.cross(i, base, gone.length <= 6);
    const taken = [];
    for (const [i, id] of alive) {
      const at = this.spot(base + i);
      if (!at || at[0] < s.gutter - 8 || at[0] > s.w + 8 || at[1] < -8 || at[1] > s.h + 8) continue;
      for (let k = 0; k < 4 && taken.some((q) => Math.hypot(q[0] - at[0], q[1] - at[1]) < 15); k++) at[1] += 16;
      taken.push(at);
      const uid = s.pic.meta.events[i][0], strong = s.selection.events.has(uid), over = s.hover === "event:" + uid;
      this.circle(at[0], at[1], String(id), strong ? 2.5 : over ? 2 : 1.25, strong);
      this.badges.push({ x: at[0], y: at[1], ref: "event:" + uid, event: i, id });
    }
  }
  circle(x, y, text, width, strong) {
    const { ctx, s } = this, font = this.font(11, 600), half = Math.max(8, this.width(text, font) / 2 + 4);
    ctx.beginPath(); ctx.roundRect(x - half, y - 8, 2 * half, 16, 8);
    ctx.fillStyle = strong ? s.theme.ink : s.theme.bg; ctx.fill();
    ctx.strokeStyle = s.theme.ink; ctx.lineWidth = width; ctx.stroke();
    ctx.font = font; ctx.textAlign = "center"; ctx.textBaseline = "alphabetic";
    ctx.fillStyle = strong ? s.theme.bg : s.theme.ink;
    ctx.fillText(text, x, y + 4);
    ctx.textAlign = "left";
  }
  cross(i, base, words) {
    const { ctx, s } = this, at = this.spot(base + i);
    if (!at) return;
    const [x, y] = at, uid = s.pic.meta.events[i][0], rule = s.pic.meta.rules[uid];
    ctx.beginPath(); ctx.arc(x, y, 6, 0, 7); ctx.fillStyle = s.theme.bg; ctx.fill();
    ctx.beginPath();
    for (const d of [1, -1]) { ctx.moveTo(x - 3.5, y - 3.5 * d); ctx.lineTo(x + 3.5, y + 3.5 * d); }
    ctx.strokeStyle = s.theme.ink; ctx.lineWidth = 1.5; ctx.stroke();
    this.badges.push({ x, y, ref: "event:" + uid, event: i, gone: true });
    if (!words || this.boxH < 20) return;
    const text = this.fit(s.t("removed") + (rule ? s.t("colon") + s.lang(rule) : ""), 190, this.font(11));
    ctx.textBaseline = "alphabetic";
    ctx.strokeStyle = s.theme.bg; ctx.lineWidth = 7; ctx.lineJoin = "round"; ctx.strokeText(text, x + 11, y + 4);
    ctx.fillStyle = s.theme.ink2; ctx.fillText(text, x + 11, y + 4);
  }
  /** Zoomed far out: one count per pair of streams instead of hundreds of circles. */
  bundles(alive, base) {
    const pairs = new Map();
    for (const [i] of alive) {
      const [, a, b] = this.s.pic.meta.events[i], at = this.spot(base + i);
      if (!at) continue;
      const key = Math.min(this.colours[a], this.colours[b]) + "-" + Math.max(this.colours[a], this.colours[b]), row = pairs.get(key) || [0, 0, 0];
      row[0]++; row[1] += at[0]; row[2] += at[1];
      pairs.set(key, row);
    }
    for (const [n, x, y] of pairs.values()) this.circle(x / n, y / n, n.toLocaleString("en"), 1.25, false);
  }
  /** What a comparison found: a sign at the corner of a node; nodes without one are drawn faint. */
  signs() {
    const { ctx, s } = this, marks = s.pic.meta.marks;
    if (!marks || this.boxH < 3 || this.boxW < 3) return;
    const w = this.boxW + 2;
    for (const i of this.visible) {
      if (this.colours[i] === s.pic.absent || this.xy[2 * i] !== this.xy[2 * i]) continue;
      const x = this.X(this.xy[2 * i]), y = this.Y(this.xy[2 * i + 1]), h = s.pic.height(i, s.layout) * s.view.ky + 2, sign = marks[i];
      if (!sign) { ctx.globalAlpha = 0.55; ctx.fillStyle = s.theme.bg; ctx.fillRect(x - w / 2, y - h / 2, w, h); ctx.globalAlpha = 1; continue; }
      const r = this.boxH < 14 ? 3 : 7.5, cx = x + w / 2 - 2, cy = y - h / 2 + 2;
      ctx.beginPath(); ctx.arc(cx, cy, r, 0, 7);
      ctx.fillStyle = s.theme.ink; ctx.fill();
      ctx.strokeStyle = s.theme.bg; ctx.lineWidth = 1; ctx.stroke();
      if (r < 5) continue;
      ctx.font = this.font(11, 600); ctx.textAlign = "center"; ctx.textBaseline = "alphabetic";
      ctx.fillStyle = s.theme.bg; ctx.fillText(sign, cx, cy + 4); ctx.textAlign = "left";
    }
  }
  outline(i, width, ring) {
    const { ctx, s } = this, w = Math.max(this.boxW, 4), h = Math.max(s.pic.height(i, s.layout) * s.view.ky, 4), x = this.X(this.xy[2 * i]) - w / 2, y = this.Y(this.xy[2 * i + 1]) - h / 2;
    if (x !== x) return;
    const r = this.pill(i) ? h / 2 : 3;
    if (ring) { ctx.strokeStyle = s.theme.ring; ctx.lineWidth = 4; ctx.beginPath(); ctx.roundRect(x - 3, y - 3, w + 6, h + 6, r + 3); ctx.stroke(); }
    ctx.strokeStyle = s.theme.outline; ctx.lineWidth = width; ctx.beginPath(); ctx.roundRect(x, y, w, h, r); ctx.stroke();
  }
  marked() {
    const { s } = this;
    for (const i of s.selection.nodes) if (i < s.pic.n && this.colours[i] !== s.pic.absent) this.outline(i, 2, true);
    if (s.selection.streams.size) for (const i of this.visible) if (s.selection.streams.has(this.colours[i])) this.outline(i, 1.5, false);
    if (s.hover && s.hover.startsWith("node:")) { const i = s.pic.at.get(+s.hover.slice(5)); if (i !== undefined && this.colours[i] !== s.pic.absent) this.outline(i, 1.5, false); }
    const small = this.boxH < 12 || this.boxW < 26;
    if (small) for (const i of [...s.selection.nodes].slice(0, 8)) this.floating(i);
  }
  /** Name beside a node that is too small to carry it. */
  floating(i) {
    const { ctx, s } = this, x = this.X(this.xy[2 * i]) + Math.max(this.boxW, 4) / 2 + 6, y = this.Y(this.xy[2 * i + 1]) + 4;
    if (x !== x || this.colours[i] === s.pic.absent) return;
    const text = this.fit(s.pic.meta.names[i], 200, this.font(11, 600));
    ctx.strokeStyle = s.theme.bg; ctx.lineWidth = 4; ctx.lineJoin = "round"; ctx.strokeText(text, x, y);
    ctx.fillStyle = s.theme.ink; ctx.fillText(text, x, y);
  }
  minimap(ctx, s, w, h) {
    const size = this.frame.size[s.layout], k = Math.min((w - 10) / size[0], 40), ky = Math.min((h - 8) / size[1], 40);
    ctx.setTransform(s.dpr, 0, 0, s.dpr, 0, 0);
    ctx.fillStyle = s.theme.bg; ctx.fillRect(0, 0, w, h);
    const bw = Math.max(1, NODE_W * k), bh = Math.max(1.5, Math.min(3, NODE_H * ky)), step = Math.max(1, Math.floor(s.pic.n / 6000));
    for (let i = 0; i < s.pic.n; i += step) {
      const x = this.xy[2 * i];
      if (x !== x || this.colours[i] === s.pic.absent) continue;
      ctx.fillStyle = this.swatch(i).solid;
      ctx.globalAlpha = s.selection.nodes.has(i) ? 1 : 0.65;
      ctx.fillRect(5 + x * k - bw / 2, 4 + this.xy[2 * i + 1] * ky - bh / 2, bw, bh);
    }
    ctx.globalAlpha = 1;
    const clamp = (v, lo, hi) => Math.max(lo, Math.min(hi, v));
    const a = clamp(5 + this.x0 * k, 2.5, w - 6), b = clamp(5 + this.x1 * k, a + 4, w - 2.5), c = clamp(4 + (s.top - s.view.oy) / s.view.ky * ky, 2.5, h - 6), d = clamp(4 + (s.h - s.bottom - s.view.oy) / s.view.ky * ky, c + 4, h - 2.5);
    ctx.strokeStyle = s.theme.ink2; ctx.lineWidth = 1; ctx.strokeRect(a, c, b - a, d - c);
    return { k, ky };
  }
}
