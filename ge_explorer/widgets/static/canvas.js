// Graph canvas, part 4: the element, its keys and pointer, and the link to the model.

const TOP = 34, BOTTOM = 40, MINI_W = 118, MINI_H = 30, HOVER_MS = 300;
const READABLE = 58; // px: narrower nodes cannot carry their names, so the first view shows a part instead of everything
const WORDS = {
  lanes: ["Stream lanes", "流泳道"], layered: ["Layered", "分层"], zoomIn: ["Zoom in", "放大"], zoomOut: ["Zoom out", "缩小"], fit: ["Fit all", "适应窗口"],
  noStream: ["no stream", "无流"], geId: ["GE id", "GE 编号"], label: ["label", "标签"], notYet: ["not at this step", "此步尚无"], notHere: ["not here", "此处没有"], removed: ["removed", "已删"], colon: [": ", "："],
  data: ["data", "数据"], event: ["event", "事件"], control: ["control", "控制"], gone: ["removed since compare step", "对比步骤后删除"], stream: ["stream", "流"],
  functions: ["Functions", "函数"], scopes: ["Modules", "模块"], unfolded: ["Unfolded", "展开"], foldLabel: ["Fold", "折叠"], fold: ["Fold", "折叠"], unfold: ["Unfold", "展开"], unfoldHow: ["double click or G unfolds", "双击或按 G 展开"],
  keys: ["Graph. Arrow keys left and right step, up and down walk the nodes, Enter selects, W A S D move, F fits, L changes the layout, G folds or unfolds.",
    "计算图。左右键切换步骤，上下键遍历节点，回车选中，W A S D 移动，F 适应窗口，L 切换布局，G 折叠或展开。"],
  empty: ["No graph yet", "尚无计算图"], folded: ["folded", "已折叠"], minimap: ["Overview: click to move there", "全图：点击跳转"], legend: ["Legend", "图例"],
};
const CSS = `
.gxc{position:relative;width:100%;overflow:hidden;outline:none;background-color:var(--jp-layout-color1,#fff);transition:background-color 10ms;font:12px/16px var(--jp-ui-font-family,Inter,"Noto Sans CJK SC",sans-serif);font-variant-numeric:tabular-nums;
--gi:color-mix(in srgb,var(--jp-ui-font-color0,#000) 88%,var(--jp-layout-color1,#fff));--gi2:color-mix(in srgb,var(--jp-ui-font-color0,#000) 65%,var(--jp-layout-color1,#fff));--gi3:color-mix(in srgb,var(--jp-ui-font-color0,#000) 46%,var(--jp-layout-color1,#fff));
--gl:color-mix(in srgb,var(--jp-ui-font-color0,#000) 22%,var(--jp-layout-color1,#fff));--gs:color-mix(in srgb,var(--jp-ui-font-color0,#000) 7%,var(--jp-layout-color1,#fff));--gb:var(--jp-layout-color1,#fff);color:var(--gi)}
.gxc>canvas{display:block;touch-action:none;cursor:default}.gxc:focus-visible::after{content:"";position:absolute;inset:0;border:2px solid var(--jp-brand-color1,#1976d2);pointer-events:none}
.gxc button{all:unset;box-sizing:border-box;cursor:pointer;font:inherit}.gxc button:focus-visible{outline:2px solid var(--jp-brand-color1,#1976d2);outline-offset:1px}
.gxc-ov{position:absolute;display:flex;gap:2px;align-items:center}.gxc-bar{left:0;right:0;top:0;height:${TOP - 1}px;background:var(--gb)}.gxc-foot{left:0;right:0;bottom:0;height:${BOTTOM - 1}px;background:var(--gb)}
.gxc-seg{left:8px;top:6px;border:1px solid var(--gl);border-radius:4px;background:var(--gb);padding:1px}.gxc-seg button{height:20px;line-height:20px;padding:0 8px;border-radius:3px;color:var(--gi2)}.gxc-seg button[aria-checked=true]{background:var(--gs);color:var(--gi);font-weight:600}
.gxc-folds{top:6px;right:92px;gap:8px;overflow:hidden;white-space:nowrap}.gxc-fg{display:inline-flex;gap:2px;border:1px solid var(--gl);border-radius:4px;padding:1px;flex:none}.gxc .gxc-fg button,.gxc .gxc-one{height:20px;line-height:20px;padding:0 8px;border-radius:3px;color:var(--gi2)}.gxc .gxc-fg button[aria-checked=true]{background:var(--gs);color:var(--gi);font-weight:600}.gxc .gxc-one{border:1px solid var(--gl);border-radius:4px;height:22px;min-width:0;max-width:220px;overflow:hidden;text-overflow:ellipsis}.gxc .gxc-one:hover{background:var(--gs);color:var(--gi)}
.gxc-zoom{right:4px;top:5px}.gxc-zoom button{width:24px;height:24px;border-radius:4px;display:grid;place-items:center;color:var(--gi2)}.gxc-zoom button:hover{background:var(--gs);color:var(--gi)}.gxc-zoom svg{width:16px;height:16px;fill:none;stroke:currentColor;stroke-width:1.5;stroke-linecap:round}
.gxc-legend{left:8px;bottom:6px;gap:12px;font-size:11px;color:var(--gi2)}.gxc-legend span{display:inline-flex;gap:5px;align-items:center;white-space:nowrap}.gxc-legend svg{width:24px;height:8px;overflow:visible;fill:none}
.gxc-mini{right:8px;bottom:4px;border:1px solid var(--gl);border-radius:3px;overflow:hidden;background:var(--gb)}.gxc-mini canvas{display:block;cursor:pointer}
.gxc-tip{position:absolute;z-index:9;pointer-events:none;max-width:280px;padding:5px 8px;border-radius:4px;background:var(--gi);color:var(--gb);font-size:11px;line-height:15px;overflow-wrap:anywhere}.gxc-tip kbd{font:inherit;border:1px solid color-mix(in srgb,var(--gb) 45%,var(--gi));border-radius:3px;padding:0 4px;margin-left:6px}
.gxc-tip b{font-weight:600}.gxc-sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}.gxc [hidden]{display:none!important}`;
const LEGEND = {
  data: '<path d="M0 4H18" stroke="var(--gi3)" stroke-width="1.25"/><path d="M16 1 22 4 16 7Z" fill="var(--gi3)"/>',
  event: '<path d="M0 4H17" stroke="var(--gi)" stroke-width="1.5" stroke-dasharray="5 3"/><path d="M15 .5 22 4 15 7.500Z" fill="var(--gi)"/>',
  control: '<path d="M1 4H15" stroke="var(--gi2)" stroke-width="1.5" stroke-dasharray="1 3" stroke-linecap="round"/><path d="M15.500 1 21.500 4 15.500 7Z" fill="var(--gb)" stroke="var(--gi2)"/>',
  gone: '<path d="M0 4H22" stroke="var(--gi3)" stroke-width="1.25" stroke-dasharray="5 3"/><path d="M8 1l6 6M14 1l-6 6" stroke="var(--gi)" stroke-width="1.250"/>',
};
const ICONS = { zoomOut: '<path d="M3 8h10"/>', zoomIn: '<path d="M3 8h10M8 3v10"/>', fit: '<path d="M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3"/>' };
const KEY_OF = { zoomIn: "W", zoomOut: "S", fit: "F", lanes: "L", layered: "L" };

function make(tag, props = {}, ...kids) {
  const el = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) if (k === "html") el.innerHTML = v; else el.setAttribute(k, v); // html: constants of this file only
  el.append(...kids);
  return el;
}

class GraphView {
  constructor(el, model) {
    this.model = model;
    this.root = make("div", { class: "gxc", tabindex: "0", role: "group", "data-gx-state": "busy" });
    this.root.append(make("style", {}, CSS));
    this.canvas = make("canvas", { role: "img" });
    this.bar = make("div", { class: "gxc-ov gxc-bar" });
    this.foot = make("div", { class: "gxc-ov gxc-foot" });
    this.seg = make("div", { class: "gxc-ov gxc-seg", role: "radiogroup" });
    this.zoomer = make("div", { class: "gxc-ov gxc-zoom" });
    this.folds = make("div", { class: "gxc-ov gxc-folds", hidden: "" });
    this.legend = make("div", { class: "gxc-ov gxc-legend" });
    this.mini = make("canvas");
    const box = make("div", { class: "gxc-ov gxc-mini" }, this.mini);
    this.tip = make("div", { class: "gxc-tip", role: "tooltip", hidden: "" });
    this.live = make("div", { class: "gxc-sr", "aria-live": "polite" });
    this.root.append(this.canvas, this.bar, this.foot, this.seg, this.folds, this.zoomer, this.legend, box, this.tip, this.live);
    this.buttons = {};
    for (const k of ["lanes", "layered"]) { const b = (this.buttons[k] = make("button", { type: "button", role: "radio" })); b.onclick = () => this.setLayout(k); this.seg.append(b); }
    for (const k of ["zoomOut", "zoomIn", "fit"]) { const b = (this.buttons[k] = make("button", { type: "button", html: `<svg viewBox="0 0 16 16">${ICONS[k]}</svg>` })); b.onclick = () => (k === "fit" ? this.fit(true) : this.zoom(k === "zoomIn" ? 1.25 : 0.8)); this.zoomer.append(b); }
    el.append(this.root);
    this.ctx = this.canvas.getContext("2d");
    this.painter = new Painter(this.canvas, this.ctx);
    this.views = {};
    this.hover = "";
    this.cursor = -1;
    this.stops = [];
    this.listen();
    this.load();
    this.resize();
  }
  t(key) { return WORDS[key][this.lang === "zh" ? 1 : 0]; }
  get layoutName() { return this.model.get("layout_mode") === "layered" ? "layered" : "lanes"; }
  get gutter() { return this.layoutName === "lanes" && !this.pic.empty ? (this.w < 820 ? 78 : 98) : 0; }

  // ------------------------------------------------------------ model
  listen() {
    const on = (names, f) => { const g = () => { f(); this.draw(); }; this.model.on(names, g); this.stops.push(() => this.model.off(names, g)); };
    on("change:meta", () => this.load());
    on("change:step", () => this.stepped());
    on("change:layout_mode", () => { this.hover = ""; });
    on("change:compare change:selected change:lang", () => {});
    on("change:viewport", () => this.follow());
    on("change:height", () => this.resize());
    const add = (target, type, f, opts) => { target.addEventListener(type, f, opts); this.stops.push(() => target.removeEventListener(type, f, opts)); };
    add(this.canvas, "wheel", (e) => this.wheel(e), { passive: false });
    add(this.canvas, "pointerdown", (e) => this.down(e));
    add(this.canvas, "pointermove", (e) => this.move(e));
    add(this.canvas, "pointerup", (e) => this.up(e));
    add(this.canvas, "pointerleave", () => this.setHover("", 0, 0));
    add(this.canvas, "dblclick", (e) => { const box = this.boxAt(...this.at(e)); if (box) this.flip(box.key); else this.fit(true); });
    add(this.mini, "pointerdown", (e) => this.jump(e));
    add(this.root, "keydown", (e) => this.key(e));
    for (const [k, b] of Object.entries(this.buttons)) { add(b, "pointerenter", () => this.buttonTip(k, b)); add(b, "pointerleave", () => this.hideTip()); }
    const sizes = new ResizeObserver(() => this.resize());
    sizes.observe(this.root);
    const themes = new MutationObserver(() => { this.theme = null; this.draw(); });
    const watch = { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "data-theme", "class", "style"] };
    for (const node of [document.documentElement, document.body]) themes.observe(node, watch);
    // A theme's style sheet may load after the attribute that announces it: the colour of the root changing is the proof.
    this.root.addEventListener("transitionend", (e) => { if (e.target === this.root) { this.theme = null; this.draw(); } });
    this.stops.push(() => sizes.disconnect(), () => themes.disconnect());
    const media = matchMedia("(forced-colors: active)"), fresh = () => { this.theme = null; this.draw(); };
    media.addEventListener("change", fresh);
    this.stops.push(() => media.removeEventListener("change", fresh));
  }
  /** A new picture. Its binary traits come in the same message, so wait until all are set. */
  load() {
    this.pic = new Picture(this.model);
    this.views = {};
    this.theme = null;
    this.frameShown = this.pic.empty ? -1 : this.pic.step(this.model.get("step")).frame;
  }
  /** Between structures nodes move: keep the selected node, or the one nearest to the middle, where it is on screen. */
  stepped() {
    if (this.pic.empty) return;
    const now = this.pic.step(this.model.get("step")).frame, view = this.views[this.layoutName];
    if (now === this.frameShown) return;
    const was = this.frameShown;
    this.frameShown = now;
    if (!view) return;
    if (view.fitted) { this.views = {}; return; }
    const a = this.pic.xy(was, this.layoutName), b = this.pic.xy(now, this.layoutName), chosen = [...this.selection().nodes];
    let keep = chosen.find((i) => a[2 * i] === a[2 * i] && b[2 * i] === b[2 * i]);
    if (keep === undefined) {
      let far = Infinity;
      for (let i = 0; i < this.pic.n; i++) {
        const d = Math.abs(a[2 * i] * view.kx + view.ox - this.w / 2) + Math.abs(a[2 * i + 1] * view.ky + view.oy - this.h / 2);
        if (d < far && b[2 * i] === b[2 * i]) { far = d; keep = i; }
      }
    }
    if (keep === undefined) return;
    view.ox += (a[2 * keep] - b[2 * keep]) * view.kx;
    view.oy += (a[2 * keep + 1] - b[2 * keep + 1]) * view.ky;
  }
  selection() {
    const out = { nodes: new Set(), events: new Set(), streams: new Set() }, step = this.model.get("step");
    for (const ref of this.model.get("selected") || []) {
      const [kind, id] = ref.split(":");
      if (kind === "node" && this.pic.at.has(+id)) out.nodes.add(this.pic.at.get(+id));
      else if (kind === "event") out.events.add(+id);
      else if (kind === "stream") { const k = this.pic.identity(step, +id); if (k >= 0) out.streams.add(k); }
    }
    return out;
  }
  send(name, value) { this.model.set(name, value); this.model.save_changes(); }
  select(refs) { this.send("selected", refs); this.draw(); }
  setLayout(name) { if (name !== this.layoutName) this.send("layout_mode", name); this.draw(); }

  // ------------------------------------------------------------ size and view
  resize() {
    this.w = Math.max(60, Math.round(this.root.clientWidth || 800));
    this.h = this.model.get("height") || 304;
    this.dpr = window.devicePixelRatio || 1;
    this.root.style.height = this.h + "px";
    const size = (c, w, h) => { c.width = Math.round(w * this.dpr); c.height = Math.round(h * this.dpr); c.style.width = w + "px"; c.style.height = h + "px"; };
    size(this.canvas, this.w, this.h);
    size(this.mini, MINI_W, MINI_H);
    for (const k of Object.keys(this.views)) if (this.views[k].fitted || this.views[k].opening) delete this.views[k];
    this.paint();
  }
  /** Scale at which everything fits; lanes may be squeezed sideways, as a timeline is. */
  fitted() {
    const size = this.pic.frame(this.model.get("step")).size[this.layoutName], lanes = this.layoutName === "lanes", pad = lanes ? 18 : 16;
    const w = this.w - this.gutter - 2 * pad, h = this.h - TOP - BOTTOM - (lanes ? 0 : 12);
    let kx = Math.min(1.25, w / size[0]), ky = Math.min(lanes ? 1 : 1.25, h / size[1]);
    if (kx * NODE_W < 12) { /* too many columns for words: columns become thin bars, lanes keep their height */ }
    else if (lanes) { if (ky > kx / 0.5) ky = Math.max(kx / 0.5, 0.0005); kx = Math.min(kx, Math.max(ky * 1.6, 0.0005)); }
    else { ky = Math.min(ky, kx * 1.5); kx = Math.min(kx, ky * 1.25); }
    const used = size[0] * kx, tall = size[1] * ky;
    return { kx, ky, ox: this.gutter + pad + (lanes ? 0 : Math.max(0, (w - used) / 2)), oy: TOP + (lanes ? Math.max(0, (h - tall) / 6) : 6 + Math.max(0, (h - tall) / 2)), fitted: true };
  }
  view() {
    const name = this.layoutName;
    if (this.views[name]) return this.views[name];
    const fit = this.fitted();
    // a large graph opens on a readable neighbourhood, not as a hairball: F shows all of it
    if (fit.kx * NODE_W < READABLE || fit.ky * NODE_H < 16) {
      const size = this.pic.frame(this.model.get("step")).size[name], k = name === "lanes" ? Math.min(1, Math.max(0.8, fit.ky)) : 0.85, xy = this.pic.xy(this.frameShown, name);
      const chosen = [...this.selection().nodes].find((i) => xy[2 * i] === xy[2 * i]), ky = name === "lanes" ? Math.max(fit.ky, 0.8) : k;
      const at = chosen !== undefined ? [xy[2 * chosen], xy[2 * chosen + 1]] : this.opening(xy, k, ky, size);
      const half = (this.w - this.gutter) / 2, free = (this.h - TOP - BOTTOM) / 2;
      this.views[name] = { kx: k, ky, ox: Math.min(this.gutter + 18, this.gutter + half - at[0] * k), oy: name === "lanes" && chosen === undefined ? TOP : Math.min(TOP + 8, TOP + free - at[1] * ky), opening: true };
    } else this.views[name] = fit;
    return this.views[name];
  }
  /** Where to open without a selection: the first nodes that run. */
  opening(xy) {
    let best = -1;
    for (let i = 0; i < this.pic.n; i++) if (xy[2 * i] === xy[2 * i] && this.pic.meta.kinds[i] === 0 && (best < 0 || xy[2 * i] < xy[2 * best])) best = i;
    return best < 0 ? [0, 0] : [xy[2 * best], xy[2 * best + 1]];
  }
  fit() { if (!this.pic.empty) { this.views[this.layoutName] = this.fitted(); this.tell(); this.draw(); } }
  /** Two canvases side by side: where this one looks along x. Stays in the browser (no message to Python). */
  tell() {
    if (!this.model.get("linked")) return;
    const v = this.view(), now = [v.kx, v.ox, v.ky];
    this.told = now.join();
    this.model.set("viewport", now);
  }
  follow() {
    const now = this.model.get("viewport") || [];
    if (!this.model.get("linked") || now.length !== 3 || now.join() === this.told || this.pic.empty) return;
    const v = this.view();
    this.told = now.join();
    v.oy = TOP + (v.oy - TOP) * (now[2] / v.ky);
    [v.kx, v.ox, v.ky] = now;
    v.fitted = v.opening = false;
  }
  zoom(f, x = (this.w + this.gutter) / 2, y = (this.h + TOP - BOTTOM) / 2) {
    const v = this.view(), g = Math.max(0.002 / v.kx, Math.min(4 / v.kx, f));
    v.ox = x - (x - v.ox) * g; v.oy = y - (y - v.oy) * g; v.kx *= g; v.ky *= g;
    v.fitted = v.opening = false;
    this.tell();
    this.draw();
  }
  pan(dx, dy) { const v = this.view(); v.ox += dx; v.oy += dy; v.fitted = v.opening = false; this.tell(); this.draw(); }
  center(i) {
    const v = this.view(), xy = this.pic.xy(this.frameShown, this.layoutName), x = xy[2 * i] * v.kx + v.ox, y = xy[2 * i + 1] * v.ky + v.oy;
    if (x !== x) return;
    const inside = x > this.gutter + 20 && x < this.w - 20 && y > TOP + 10 && y < this.h - BOTTOM - 10;
    if (!inside) this.pan((this.w + this.gutter) / 2 - x, (this.h + TOP - BOTTOM) / 2 - y);
  }

  // ------------------------------------------------------------ pointer and keys
  wheel(e) {
    e.preventDefault();
    const r = this.canvas.getBoundingClientRect();
    if (e.shiftKey) this.pan(-e.deltaY, 0);
    else this.zoom(Math.exp(-Math.max(-200, Math.min(200, e.deltaY)) * 0.0016), e.clientX - r.left, e.clientY - r.top);
  }
  at(e) { const r = this.canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; }
  /** Reference(s) under a point: event number, lane head, fold pill, node. */
  hit(x, y) {
    const p = this.painter;
    if (this.pic.empty) return [];
    for (let k = p.badges.length - 1; k >= 0; k--) if (Math.hypot(p.badges[k].x - x, p.badges[k].y - y) <= 9) return [p.badges[k].ref];
    if (x < this.gutter) {
      const head = p.heads.find((h) => y >= h.y && y < h.y + h.h), ge = head ? this.pic.geStream(this.model.get("step"), head.key) : -1;
      return ge >= 0 ? [`stream:${ge}`] : [];
    }
    const fold = this.layoutName === "lanes" && (p.foldBoxes || []).find((f) => x >= f.x && x <= f.x + f.w && y >= f.y && y <= f.y + f.h);
    if (fold) return fold.fold.nodes.slice(0, 200).map((i) => `node:${this.pic.meta.ids[i]}`);
    const v = this.view(), i = this.pic.pick(this.model.get("step"), this.layoutName, (x - v.ox) / v.kx, (y - v.oy) / v.ky, 3 / v.kx, 3 / v.ky);
    return i < 0 ? [] : this.pic.refs(i);
  }
  down(e) { if (e.button) return; this.root.focus({ preventScroll: true }); this.canvas.setPointerCapture(e.pointerId); const [x, y] = this.at(e); this.drag = { x, y, far: false }; this.hideTip(); }
  move(e) {
    const [x, y] = this.at(e);
    if (!this.drag) { const refs = this.hit(x, y); this.canvas.style.cursor = refs.length ? "pointer" : "default"; this.setHover(refs[0] || "", x, y); return; }
    const dx = x - this.drag.x, dy = y - this.drag.y;
    if (!this.drag.far && Math.hypot(dx, dy) < 4) return;
    this.drag.far = true;
    this.drag.x = x; this.drag.y = y;
    this.canvas.style.cursor = "grabbing";
    this.pan(dx, dy);
  }
  up(e) {
    const drag = this.drag;
    this.drag = null;
    this.canvas.style.cursor = "default";
    if (!drag || drag.far) return;
    const refs = this.hit(...this.at(e));
    if (e.shiftKey && refs.length) { const had = this.model.get("selected") || []; this.select(had.includes(refs[0]) ? had.filter((r) => r !== refs[0]) : [...had, ...refs]); }
    else this.select(refs);
  }
  // ------------------------------------------------------------ folding
  boxAt(x, y) {
    if (this.pic.empty || x < this.gutter) return null;
    const v = this.view(), i = this.pic.pick(this.model.get("step"), this.layoutName, (x - v.ox) / v.kx, (y - v.oy) / v.ky, 3 / v.kx, 3 / v.ky);
    return (this.pic.meta.boxes || {})[i] || null;
  }
  /** Instance the selection is about: the folded one that is selected, else the innermost one around the selected node. */
  foldable() {
    const x = this.pic.empty ? null : this.pic.meta.insides, i = x ? [...this.selection().nodes][0] : undefined;
    if (i === undefined) return "";
    const box = (this.pic.meta.boxes || {})[i];
    return box ? box.key : x.inner[i] >= 0 ? x.rows[x.inner[i]][0] : "";
  }
  /** Fold an instance, or unfold it. Python draws the graph again. */
  flip(key) {
    if (!key) return;
    const had = this.model.get("flipped") || [];
    this.send("flipped", had.includes(key) ? had.filter((k) => k !== key) : [...had, key].sort());
  }
  setFold(kind) { this.model.set("flipped", []); this.send("fold", kind); }
  foldBar() {
    const x = this.pic.empty ? null : this.pic.meta.insides, key = this.foldable(), box = x && key && Object.values(this.pic.meta.boxes || {}).some((b) => b.key === key);
    const now = x && this.model.get("foldable") ? [this.lang, x.fold, key, box, x.kinds.join(), this.w < 620].join("|") : "";
    if (now === this.foldShown) return;
    this.foldShown = now;
    this.folds.hidden = !now;
    if (!now) return;
    const group = make("span", { role: "radiogroup", "aria-label": this.t("foldLabel"), class: "gxc-fg" }), button = (name, on, f) => { const b = make("button", { type: "button", role: "radio", "aria-checked": String(on), "data-fold": name || "none" }); b.append(this.t(name || "unfolded")); b.onclick = f; return b; };
    for (const k of ["", ...x.kinds]) group.append(button(k, x.fold === k, () => this.setFold(k)));
    this.folds.replaceChildren(group);
    if (key) {
      const row = x.rows.find((r) => r[0] === key), b = make("button", { type: "button", class: "gxc-one", "data-flip": key, title: row ? row[1] : key }), name = (row ? row[1] : key).split("/").pop();
      b.append(`${this.t(box ? "unfold" : "fold")} ${name}`);
      b.onclick = () => this.flip(key);
      this.folds.append(b);
    }
  }
  jump(e) {
    if (this.pic.empty || !this.miniScale) return;
    const r = this.mini.getBoundingClientRect(), v = this.view(), x = (e.clientX - r.left - 5) / this.miniScale.k, y = (e.clientY - r.top - 4) / this.miniScale.ky;
    v.ox = (this.w + this.gutter) / 2 - x * v.kx; v.oy = (this.h + TOP - BOTTOM) / 2 - y * v.ky; v.fitted = v.opening = false;
    this.tell();
    this.draw();
  }
  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || this.pic.empty || (e.target !== this.root && (e.key === "Enter" || e.key === " "))) return;
    const step = this.model.get("step"), far = 60, k = e.key.length === 1 ? e.key.toLowerCase() : e.key;
    const acts = {
      ArrowLeft: () => this.send("step", this.pic.clamp(step - 1)), ArrowRight: () => this.send("step", this.pic.clamp(step + 1)),
      ArrowUp: () => this.walk(-1), ArrowDown: () => this.walk(1), Enter: () => this.cursor >= 0 && this.select(this.pic.refs(this.cursor)), g: () => this.flip(this.foldable()),
      w: () => this.zoom(1.25), s: () => this.zoom(0.8), "+": () => this.zoom(1.25), "-": () => this.zoom(0.8), a: () => this.pan(far, 0), d: () => this.pan(-far, 0),
      f: () => this.fit(), l: () => this.setLayout(this.layoutName === "lanes" ? "layered" : "lanes"), Escape: () => this.select([]),
    };
    if (e.shiftKey) Object.assign(acts, { ArrowLeft: () => this.pan(far, 0), ArrowRight: () => this.pan(-far, 0), ArrowUp: () => this.pan(0, far), ArrowDown: () => this.pan(0, -far) });
    if (!acts[k]) return;
    acts[k]();
    e.preventDefault();
    e.stopPropagation();
    this.draw();
  }
  /** Walk the nodes from left to right with the keyboard; Enter selects. */
  walk(by) {
    const xy = this.pic.xy(this.frameShown, this.layoutName), colours = this.pic.colours(this.model.get("step")), all = [];
    for (let i = 0; i < this.pic.n; i++) if (xy[2 * i] === xy[2 * i] && colours[i] !== this.pic.absent) all.push(i);
    if (!all.length) return;
    all.sort((a, b) => xy[2 * a] - xy[2 * b] || xy[2 * a + 1] - xy[2 * b + 1]);
    const from = all.indexOf(this.cursor >= 0 ? this.cursor : [...this.selection().nodes][0]);
    this.cursor = all[from < 0 ? (by > 0 ? 0 : all.length - 1) : (from + by + all.length) % all.length];
    this.hover = `node:${this.pic.meta.ids[this.cursor]}`;
    this.live.textContent = this.describe(this.hover).join(", ");
    this.center(this.cursor);
  }

  // ------------------------------------------------------------ hover
  setHover(ref, x, y) {
    if (ref !== this.hover) { this.hover = ref; this.draw(); this.hideTip(); if (ref) this.timer = setTimeout(() => this.showTip(this.describe(ref), x, y), HOVER_MS); }
  }
  describe(ref) {
    const [kind, id] = ref.split(":"), meta = this.pic.meta, step = this.model.get("step"), L = (b) => (this.lang === "zh" ? b.zh : b.en);
    const streamOf = (i) => { const c = this.pic.colours(step)[i]; return c < this.pic.noStream ? `${this.t("stream")} ${meta.streams[c].letter}, ${this.t("geId")} ${this.pic.geStream(step, c)}` : this.t("noStream"); };
    if (kind === "node") {
      const i = this.pic.at.get(+id), box = (meta.boxes || {})[i];
      if (!box) return [meta.names[i], meta.ops[i], streamOf(i)];
      return [box.title, [box.type, `${this.t("folded")}, ${this.count(box.members.length)}`].filter(Boolean).join(this.lang === "zh" ? "，" : ", "), streamOf(i), this.t("unfoldHow")];
    }
    if (kind === "stream") { const c = this.pic.identity(step, +id), s = meta.streams[c], row = this.pic.step(step).streams.find((r) => r[0] === c); return [`${s.letter} ${L(s.role)}`, `${this.t("geId")} ${id}${s.label ? `, ${this.t("label")} ${s.label}` : ""}`, `${s.engine} ${this.count(row[2])}`]; }
    const badge = this.painter.badges.find((b) => b.ref === ref), e = meta.events[badge ? badge.event : this.pic.eventByUid.get(+id)], rule = meta.rules[+id];
    const out = [`${this.t("event")} ${badge && !badge.gone ? badge.id : ""}`.trim(), `${meta.names[e[1]]} → ${meta.names[e[2]]}`];
    if (badge && badge.gone) out.push(this.t("removed") + (rule ? this.t("colon") + L(rule) : ""));
    return out;
  }
  count(n) { return this.lang === "zh" ? `${n.toLocaleString("en")} 个节点` : `${n.toLocaleString("en")} node${n === 1 ? "" : "s"}`; }
  showTip(lines, x, y, shortcut) {
    this.tip.replaceChildren(make("b", {}, lines[0]), ...lines.slice(1).map((l) => make("div", {}, l)));
    if (shortcut) this.tip.append(make("kbd", {}, shortcut));
    this.tip.hidden = false;
    const w = this.tip.offsetWidth, h = this.tip.offsetHeight;
    this.tip.style.left = Math.max(2, Math.min(this.w - w - 2, x + 12)) + "px";
    this.tip.style.top = (y + 16 + h > this.h ? Math.max(2, y - h - 8) : y + 16) + "px";
  }
  buttonTip(k, b) { this.hideTip(); this.timer = setTimeout(() => this.showTip([this.t(k)], b.offsetLeft + b.parentNode.offsetLeft, 22, KEY_OF[k]), HOVER_MS); }
  hideTip() { clearTimeout(this.timer); this.tip.hidden = true; }

  // ------------------------------------------------------------ drawing
  draw() { this.frameId ??= requestAnimationFrame(() => this.paint()); }
  paint() {
    if (this.frameId) cancelAnimationFrame(this.frameId);
    this.frameId = null;
    this.lang = this.model.get("lang") === "zh" ? "zh" : "en";
    const pic = this.pic;
    if (!this.theme || this.theme.loose) { // outside the page there are no colours to read yet
      this.theme = readTheme(this.root, pic.empty ? [] : pic.meta.streams);
      this.theme.loose = !this.root.isConnected;
    }
    const step = pic.empty ? -1 : pic.clamp(this.model.get("step")), compare = this.model.get("compare") ?? NO_COMPARE;
    if (!pic.empty) this.frameShown = pic.step(step).frame;
    const empty = { nodes: new Set(), events: new Set(), streams: new Set() };
    const s = {
      pic, theme: this.theme, step, compare, layout: this.layoutName, view: pic.empty ? null : this.view(), w: this.w, h: this.h, dpr: this.dpr, gutter: this.gutter, top: TOP, bottom: BOTTOM,
      selection: pic.empty ? empty : this.selection(), hover: this.hover, t: (k) => this.t(k), lang: (b) => (this.lang === "zh" ? b.zh : b.en), count: (n) => this.count(n),
    };
    this.painter.paint(s);
    this.dress(s);
    this.foldBar();
    this.folds.style.left = `${this.seg.offsetLeft + this.seg.offsetWidth + 10}px`;
    if (!pic.empty) this.miniScale = this.painter.minimap(this.mini.getContext("2d"), s, MINI_W, MINI_H);
    this.root.dataset.gxTheme = this.theme.dark ? "dark" : "light";
    this.root.dataset.gxStep = String(step);
    this.root.dataset.gxLayout = s.layout;
    this.root.dataset.gxBoxes = String(pic.empty ? 0 : Object.keys(pic.meta.boxes || {}).length);
    this.root.dataset.gxSelected = (this.model.get("selected") || []).join(" ");
    this.root.dataset.gxState = pic.empty ? "empty" : "ready";
  }
  /** Words around the canvas; touched only when they change. */
  dress(s) {
    const gone = s.pic.empty ? false : s.pic.gone(s.step, s.compare).length > 0, key = [this.lang, s.layout, gone, this.w < 620].join();
    const alt = s.pic.empty ? this.t("empty") : s.lang(s.pic.step(s.step).alt);
    if (this.canvas.getAttribute("aria-label") !== alt) this.canvas.setAttribute("aria-label", alt);
    if (key === this.dressed) return;
    this.dressed = key;
    this.root.setAttribute("aria-label", this.t("keys"));
    this.root.lang = this.lang;
    for (const k of ["lanes", "layered"]) { this.buttons[k].textContent = this.t(k); this.buttons[k].setAttribute("aria-checked", String(s.layout === k)); }
    for (const k of ["zoomIn", "zoomOut", "fit"]) this.buttons[k].setAttribute("aria-label", this.t(k));
    this.mini.setAttribute("aria-label", this.t("minimap"));
    this.mini.setAttribute("role", "img");
    const parts = ["data", "event", "control", ...(gone ? ["gone"] : [])];
    this.legend.setAttribute("aria-label", this.t("legend"));
    this.legend.replaceChildren(...parts.map((k) => { const item = make("span", { html: `<svg aria-hidden="true">${LEGEND[k]}</svg>` }); item.append(this.t(k)); return item; }));
  }
  destroy() { this.hideTip(); for (const stop of this.stops) stop(); if (this.frameId) cancelAnimationFrame(this.frameId); this.root.remove(); }
}

/** Draw the graph of ``model`` into ``el``; returns the function that takes it away again. */
export function mountGraph(el, model) {
  const view = new GraphView(el, model);
  return () => view.destroy();
}

export default { render: ({ model, el }) => mountGraph(el, model) };
