// The shell around the graph: toolbar, figures, pass strip, tab bar, inspector, states, status line. Plain DOM, no framework.
//
// One module, one view per part: model.get("part") is "top", "tabs", "inspector", "state" or "status"; model.get("data") is what
// the Python views built (bilingual texts are {en, zh}). Uses model.get/on/off/set/save_changes only, so the static page runs it
// with stubModel(). Names come from files: they are only ever set as textContent or attribute values, never parsed as markup.
// Gestures that need Python are appended to the trait "intents" ({n, kind, ...}, n increasing) so that none is lost while the
// kernel is busy; Python answers by setting "ack" to the last n it has dealt with.

const ICONS = {
  prev: "M9.5 4 5.5 8l4 4", next: "M6.5 4l4 4-4 4", undo: "M5.5 3 2.5 6l3 3M2.5 6h7a3.5 3.5 0 0 1 0 7h-3", redo: "M10.5 3l3 3-3 3M13.5 6h-7a3.5 3.5 0 0 0 0 7h3",
  search: "M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0ZM10.3 10.3 14 14", help: "M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.6M8 12.2v.1",
  pin: "M6 2.5h4l-.5 4 2 2.5h-7l2-2.5ZM8 9v4.5", copy: "M5.5 5.5h7v7h-7ZM3.5 10.5v-7h7", warn: "M8 2.2 14 13H2ZM8 6.6v3M8 11.2v.1",
};
const ORIGINS = {
  ge: ["M0 0H7V7H0Z", true, "GE rule", "GE 规则"], measured: ["M3.5 0a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7Z", true, "measured", "实测"],
  model: ["M3.5 .2 6.8 3.5 3.5 6.8 .2 3.5Z", false, "our model", "模型估算"], assumed: ["M3.5 .6a2.9 2.9 0 1 1 0 5.8 2.9 2.9 0 0 1 0-5.8Z", false, "assumed", "假设"],
};
const WORDS = {
  graph: ["Graph", "图"], options: ["Options", "选项"], search: ["Search nodes, streams, events", "搜索节点、流、事件"], searchShort: ["Search", "搜索"],
  copy: ["Copy state", "复制状态"], copied: ["Copied", "已复制"], export: ["Export", "导出"], lang: ["中文", "EN"], undo: ["Undo", "撤销"], redo: ["Redo", "重做"],
  help: ["Shortcuts", "快捷键"], step: ["Step", "步骤"], hide: ["Hide unchanged", "隐藏无变化"], issues: ["Issues", "问题"], strength: ["Plan strength", "方案强度"],
  prev: ["Previous step", "上一步"], next: ["Next step", "下一步"], earlier: ["Earlier chapters", "前面的章节"], later: ["Later chapters", "后面的章节"],
  strip: ["Compile steps", "编译步骤"], inspector: ["Inspector", "检查器"], views: ["Views", "视图"], pin: ["Keep this open while selecting others", "固定此内容"],
  pinned: ["pinned", "已固定"], copyText: ["Copy as text", "复制为文本"], more: ["more selected", "个已选"], defaults: ["GE defaults", "恢复 GE 默认"], mode: ["Mode", "模式"],
  try_: ["Try", "试用"], gives: ["What would give more", "怎样得到更多流"], streams: ["Streams", "流"], events: ["Events", "事件"], off: ["Switch off", "关闭"], on: ["Switch on", "打开"],
  none: ["no match", "无匹配"], rules: ["GE rules", "GE 规则"], chipTip: ["Click to go, Shift click to compare", "单击跳转，Shift 单击设为对比"],
  folded: ["steps changed nothing. Show them", "步无变化，点击显示"], copyLink: ["Copy a text that brings back exactly this view", "复制可恢复此视图的文本"],
};
const KEYS = [
  ["← →", "Step back, forward", "上一步、下一步"], ["Shift ← →", "Move the compare step", "移动对比步骤"], ["0 1 2 3", "Plan strength", "方案强度"], ["W A S D", "Zoom and pan", "缩放与平移"],
  ["F", "Fit the graph", "适应窗口"], ["L", "Stream lanes or layers", "泳道或分层"], ["/", "Search", "搜索"], [". ,", "Next, previous match", "下一个、上一个匹配"], ["H", "Hide unchanged steps", "隐藏无变化步骤"],
  ["I", "Issues", "问题"], ["P", "Pin the inspector", "固定检查器"], ["Y", "Copy state", "复制状态"], ["Ctrl Z", "Undo", "撤销"], ["Ctrl Shift Z", "Redo", "重做"], ["Esc", "Clear", "清除"], ["?", "This list", "本列表"],
];
const SVG = "http://www.w3.org/2000/svg";
const CAN_POP = typeof HTMLElement !== "undefined" && "showPopover" in HTMLElement.prototype;
const WORKING = new Set(["toggle", "strength", "option", "mode", "chip", "undo", "redo", "reset", "open"]);
let menuCount = 0;

// h("b", {class, onclick, "aria-…"}, child, …): children are nodes or text; null and false are left out.
function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [k, v] of Object.entries(props || {})) {
    if (v === null || v === undefined || v === false) continue;
    if (k.startsWith("on")) el.addEventListener(k.slice(2), v);
    else el.setAttribute(k === "cls" ? "class" : k, v === true ? "" : String(v));
  }
  for (const c of children.flat(Infinity)) if (c !== null && c !== undefined && c !== false && c !== "") el.append(c instanceof Node ? c : String(c));
  return el;
}
function svg(size, ...paths) {
  const el = document.createElementNS(SVG, "svg");
  el.setAttribute("viewBox", `0 0 ${size} ${size}`);
  el.setAttribute("aria-hidden", "true");
  for (const [d, fill, stroke] of paths) {
    const p = document.createElementNS(SVG, "path");
    p.setAttribute("d", d);
    p.setAttribute("fill", fill || "none");
    if (stroke) p.setAttribute("stroke", stroke);
    el.append(p);
  }
  return el;
}

class Part {
  constructor(model, el, name) {
    this.model = model;
    this.el = el;
    this.name = name;
    this.stops = [];
    el.classList.add("gx", `gx-${name}`);
    this.shield(el);
    // Lab swallows the focus of a Shift click (it extends its cell selection), so it is set by hand.
    this.listen(el, "click", (e) => { const b = e.target.closest?.("button"); if (b?.isConnected && e.shiftKey) b.focus({ preventScroll: true }); });
    this.tips();
  }
  // Before the focused control disappears: keyboard users go on at the current step.
  home() { this.el.closest(".gx-explorer")?.querySelector(".gx-chip.gx-cur .gx-go")?.focus({ preventScroll: true }); }
  // Lab takes "d d" and the like from any focused element of a notebook unless that very element carries this mark.
  shield(root) { this.listen(root, "focusin", (e) => { e.target.dataset.lmSuppressShortcuts = "true"; }); }
  get data() { return this.model.get("data") || {}; }
  get lang() { return this.model.get("lang") === "zh" ? "zh" : "en"; }
  get step() { return this.model.get("step"); }
  get compare() { return this.model.get("compare"); }
  t(text) { return text === null || text === undefined ? "" : typeof text === "string" ? text : text[this.lang] ?? text.en ?? ""; }
  w(key) { return WORDS[key][this.lang === "zh" ? 1 : 0]; }
  on(event, fn) { this.model.on(event, fn); this.stops.push(() => this.model.off(event, fn)); }
  listen(target, event, fn, options) { target.addEventListener(event, fn, options); this.stops.push(() => target.removeEventListener(event, fn, options)); }
  set(values) {
    let differs = false;
    for (const [k, v] of Object.entries(values)) if (JSON.stringify(this.model.get(k)) !== JSON.stringify(v)) { this.model.set(k, v); differs = true; }
    if (differs) this.model.save_changes();
  }
  send(kind, payload) {
    const list = this.model.get("intents") || [];
    const n = (list.length ? list[list.length - 1].n : 0) + 1;
    this.model.set("intents", [...list.slice(-19), { n, kind, ...payload }]);
    if (WORKING.has(kind)) this.el.dataset.gxState = "busy";
    this.model.save_changes();
  }
  // Redraw `box` with `children`; keyboard focus stays on the control with the same data-k. A child that is there already and
  // holds the focus is not moved: an input that leaves the page for a moment loses its focus and what is being typed.
  fill(box, children) {
    const active = box.getRootNode().activeElement, focus = box.contains(active) ? active.closest("[data-k]")?.dataset.k : null;
    const list = children.flat(Infinity).filter((c) => c), held = focus ? list.findIndex((c) => c.parentNode === box && c.contains(active)) : -1;
    if (held < 0) box.replaceChildren(...list);
    else {
      for (const c of [...box.childNodes]) if (c !== list[held]) c.remove();
      list[held].before(...list.slice(0, held));
      list[held].after(...list.slice(held + 1));
    }
    if (focus && held < 0) box.querySelector(`[data-k="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }
  state(busy) {
    const d = this.el.dataset;
    d.gxStep = this.step;
    d.gxStrength = this.model.get("strength") || "";
    d.gxSelected = (this.model.get("selected") || []).join(" ");
    d.gxVersion = this.data.version ?? "";
    d.gxState = busy ? "busy" : "ready";
    this.el.lang = this.lang === "zh" ? "zh-CN" : "en";
  }
  get waiting() {
    const list = this.model.get("intents") || [];
    return list.some((i) => i.n > (this.model.get("ack") || 0) && WORKING.has(i.kind));
  }
  icon(name, tip, key, onclick, extra) {
    return h("button", { cls: "gx-ic", type: "button", "aria-label": tip, "data-tip": tip, "data-key": key, "data-k": name, onclick, ...extra }, svg(16, [ICONS[name]]));
  }
  origin(key) {
    const o = ORIGINS[key];
    if (!o) return null;
    const word = this.lang === "zh" ? o[3] : o[2];
    return h("span", { cls: "gx-org", "data-tip": word, role: "img", "aria-label": word }, svg(7, [o[0], o[1] ? "currentColor" : "none", o[1] ? "" : "currentColor"]));
  }
  mark(m) {
    if (!m) return null;
    return h("span", { cls: "gx-mark", "data-c": m.index % 8, "data-h": (m.index + Math.floor(m.index / 8)) % 8, "data-tip": this.t(m.role) }, h("span", {}, m.letter));
  }
  source(name, path) { return name ? h("span", { cls: "gx-src", "data-tip": path }, name) : null; }

  // ---- tooltips after 300 ms, menus; both in the top layer
  tips() {
    let timer = 0, tip = null, at = null;
    const hide = () => { clearTimeout(timer); tip?.remove(); tip = at = null; };
    const show = (target) => {
      at = target;
      tip = h("div", { cls: "gx-tip", role: "tooltip", popover: CAN_POP ? "manual" : null }, target.dataset.tip, (target.dataset.key || "").split("|").filter(Boolean).map((k) => h("kbd", {}, k)));
      this.el.append(tip);
      if (CAN_POP) tip.showPopover();
      place(tip, target);
    };
    const over = (e) => {
      const target = e.target.closest?.("[data-tip]");
      if (target === at && tip) return;
      hide();
      if (target && target.dataset.tip) timer = setTimeout(() => target.isConnected && show(target), 300);
    };
    this.listen(this.el, "mouseover", over);
    this.listen(this.el, "mouseleave", hide);
    this.listen(this.el, "focusin", (e) => { if (e.target.matches?.(":focus-visible")) over(e); });
    this.listen(this.el, "focusout", hide);
    this.listen(this.el, "pointerdown", hide);
    this.listen(window, "scroll", hide, true);
    this.stops.push(hide);
    this.hideTip = hide;
  }
  menu(anchor, children) {
    if (this.open) { const same = this.open.anchor === anchor; this.open.close(); if (same) return; }
    const box = h("div", { cls: "gx-menu", id: `gx-menu-${++menuCount}`, popover: CAN_POP ? "auto" : null, role: "dialog", "aria-label": anchor.textContent }, children);
    const close = () => { if (this.open?.box !== box) return; this.open = null; anchor.setAttribute("aria-expanded", "false"); box.remove(); };
    this.open = { anchor, box, close };
    box.addEventListener("toggle", (e) => e.newState === "closed" && setTimeout(close, 120));
    box.addEventListener("keydown", (e) => {
      const items = [...box.querySelectorAll("button, input")];
      const i = items.indexOf(box.getRootNode().activeElement);
      if (e.key === "ArrowDown" || e.key === "ArrowUp") { items[(i + (e.key === "ArrowDown" ? 1 : -1) + items.length) % items.length]?.focus(); e.preventDefault(); }
      if (e.key === "Escape") { close(); anchor.focus(); }
      e.stopPropagation();
    });
    this.el.append(box);
    anchor.setAttribute("aria-expanded", "true");
    if (CAN_POP) box.showPopover();
    place(box, anchor);
    (box.querySelector("[aria-checked=true]") || box.querySelector("button, input"))?.focus();
  }
  choice(label, note, on, act) {
    return h("button", { type: "button", role: "menuitemradio", "aria-checked": on ? "true" : "false", onclick: () => { const from = this.open?.anchor; this.open?.close(); from?.focus({ preventScroll: true }); act(); } },
      h("span", {}, on ? "✓" : ""), h("span", {}, label), note ? h("small", {}, note) : null);
  }
  copy(text, done) {
    const fallback = () => {
      const area = h("textarea", { style: "position:fixed;opacity:0" });
      area.value = text;
      this.el.append(area);
      area.select();
      const ok = document.execCommand("copy");
      area.remove();
      if (ok) done();
    };
    if (navigator.clipboard?.writeText) navigator.clipboard.writeText(text).then(done, fallback);
    else fallback();
  }
  stop() { this.open?.close(); for (const s of this.stops) s(); this.stops = []; }
}
function place(box, target) {
  const r = target.getBoundingClientRect(), w = box.offsetWidth, y = box.offsetHeight;
  box.style.left = `${Math.max(4, Math.min(r.left, innerWidth - w - 8))}px`;
  box.style.top = `${r.bottom + 6 + y > innerHeight && r.top - y - 6 > 0 ? r.top - y - 6 : r.bottom + 6}px`;
}
