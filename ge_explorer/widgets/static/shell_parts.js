// The five parts drawn with the tools of shell.js (both files are served as one module).

class Top extends Part {
  constructor(model, el) {
    super(model, el, "top");
    this.bar = h("div", { cls: "gx-tb gx-row", role: "toolbar" });
    this.figs = h("div", { cls: "gx-figs gx-row" });
    this.strip = h("div", { cls: "gx-strip", role: "navigation" });
    el.append(this.bar, this.figs, this.strip);
    this.input = h("input", { type: "search", spellcheck: "false", autocomplete: "off", "data-k": "query" });
    this.input.value = model.get("query") || "";
    this.finder = h("label", {}, svg(16, [ICONS.search, "none", "currentColor"]), this.input, h("kbd", {}, "/"));
    let timer = 0;
    this.input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => this.send("search", { query: this.input.value }), 150); });
    this.input.addEventListener("keydown", (e) => {
      if (e.key === "Enter") this.send("find", { dir: e.shiftKey ? -1 : 1, query: this.input.value });
      if (e.key === "Escape") { this.input.value = ""; this.send("search", { query: "" }); this.input.blur(); }
      e.stopPropagation();
    });
    this.on("change:data", () => this.draw());
    this.on("change:lang", () => this.draw());
    this.on("change:ack", () => this.state(this.waiting));
    for (const k of ["step", "compare", "quiet"]) this.on(`change:${k}`, () => { this.drawStrip(); this.state(this.waiting); });
    for (const k of ["strength", "selected"]) this.on(`change:${k}`, () => { this.drawFigures(); this.state(this.waiting); });
    this.on("change:download", () => this.save());
    this.on("change:query", () => { if (document.activeElement !== this.input) this.input.value = model.get("query") || ""; });
    const sized = new ResizeObserver(() => { this.hint(); this.squeeze(); this.compact(); this.handles(); this.snap(); });
    sized.observe(el);
    this.stops.push(() => sized.disconnect());
    const host = () => el.closest(".gx-explorer") || el;
    const frame = requestAnimationFrame(() => {
      const target = host();
      if (target !== el) this.shield(target);
      this.listen(target, "keydown", (e) => this.key(e));
    });
    this.stops.push(() => cancelAnimationFrame(frame));
    this.draw();
  }
  draw() { this.drawBar(); this.drawFigures(); this.drawStrip(); this.state(this.waiting); }

  drawBar() {
    const d = this.data.toolbar || {}, z = this.lang === "zh";
    const drop = (k, key, tip, content, make) => h("button", { type: "button", cls: "gx-bt gx-car", "data-k": k, "data-tip": tip, "aria-haspopup": "dialog", "aria-expanded": "false",
      onclick: (e) => this.menu(e.currentTarget, make()) }, content);
    const find = d.search || {};
    this.hint();
    this.input.setAttribute("aria-label", this.w("search"));
    const hits = find.query ? (find.hits ? `${find.at + 1} / ${find.hits}` : this.w("none")) : "";
    this.finder.className = `gx-search${hits ? " gx-hit" : ""}`;
    this.finder.lastChild.replaceWith(hits ? h("span", { cls: "gx-2", "aria-live": "polite" }, hits) : h("kbd", {}, "/"));
    this.fill(this.bar, [
      drop("graph", "O", "", [h("span", { cls: "gx-2 gx-wide" }, this.w("graph")), h("span", { cls: "gx-b gx-name", title: d.graph || "" }, d.graph || "")], () =>
        (d.graphs || []).map((g) => this.choice(g.name, this.t(g.title), g.name === d.graph, () => this.send("open", { name: g.name })))),
      drop("options", "", "", [h("span", { cls: "gx-2 gx-wide" }, this.w("options")), h("span", { cls: "gx-name", title: this.t(d.optionText) }, this.t(d.optionText))], () => this.optionMenu(d)),
      drop("chip", "", this.t(d.chipTip), [h("span", { cls: "gx-name", title: d.chip || "" }, d.chip || ""), h("span", { cls: "gx-2 gx-wide" }, d.cores || "")], () =>
        (d.chips || []).map((c) => this.choice(c.name, this.t(c.note), c.name === d.chip, () => this.send("chip", { name: c.name })))),
      h("span", { cls: "gx-sp" }),
      this.finder,
      h("span", { cls: "gx-vr gx-wide" }),
      this.icon("undo", this.w("undo"), "Ctrl Z", () => this.send("undo", {}), { disabled: !d.canUndo }),
      this.icon("redo", this.w("redo"), "Ctrl Shift Z", () => this.send("redo", {}), { disabled: !d.canRedo }),
      h("span", { cls: "gx-vr" }),
      (this.copyButton = h("button", { type: "button", cls: "gx-bt", "data-k": "copy-state", "data-tip": this.w("copyLink"), "data-key": "Y", onclick: () => this.copyState() }, this.w("copy"))),
      drop("export", "", "", this.w("export"), () => (d.exports || []).map((x) => this.choice(this.t(x.label), this.t(x.note), false, () => this.send("export", { format: x.key })))),
      h("span", { cls: "gx-vr" }),
      h("button", { type: "button", cls: "gx-bt", "data-k": "lang", "data-tip": z ? "English" : "中文", onclick: () => this.set({ lang: z ? "en" : "zh" }) }, this.w("lang")),
      this.icon("help", this.w("help"), "?", (e) => this.help(e.currentTarget)),
    ]);
  }
  hint() { this.input.placeholder = this.el.clientWidth <= 1120 ? this.w("searchShort") : this.w("search"); }
  optionMenu(d) {
    const rows = (d.options || []).map((o, i) => {
      const input = h("input", { id: `gx-o${menuCount}-${i}`, value: o.value, placeholder: o.hint || "" , spellcheck: "false" });
      input.addEventListener("change", () => this.send("option", { key: o.key, value: input.value }));
      return h("div", { cls: "gx-opt" }, h("label", { for: input.id }, o.key), input);
    });
    return [h("h4", {}, this.w("mode")), ...(d.modes || []).map((m) => this.choice(this.t(m.title), m.name, m.on, () => this.send("mode", { name: m.name }))),
      h("hr", {}), ...rows, h("hr", {}), this.choice(this.w("defaults"), "", false, () => this.send("reset", {}))];
  }
  help(anchor) {
    this.menu(anchor, [h("div", { cls: "gx-keys", tabindex: "-1" }, KEYS.map(([k, en, zh]) => [h("span", {}, k.split(" ").map((x) => [h("kbd", {}, x), " "]).flat()), h("span", {}, this.lang === "zh" ? zh : en)]))]);
  }
  copyState() {
    const b = this.copyButton;
    this.copy(this.data.share || "", () => { b.textContent = this.w("copied"); setTimeout(() => { if (b.isConnected) b.textContent = this.w("copy"); }, 1500); });
  }
  save() {
    const d = this.model.get("download") || {};
    if (!d.name || d.n === this.saved) return;
    this.saved = d.n;
    const url = URL.createObjectURL(new Blob([d.text], { type: d.mime || "text/plain" }));
    const a = h("a", { href: url, download: d.name });
    a.click();
    setTimeout(() => URL.revokeObjectURL(url), 5000);
  }

  drawFigures() {
    const f = this.data.figures || {}, now = this.model.get("strength") || "";
    const seg = f.strengths?.length ? h("div", { cls: "gx-seg", role: "radiogroup", "aria-label": this.w("strength") }, f.strengths.map((s) =>
      h("button", { type: "button", role: "radio", "aria-checked": s.key === now ? "true" : "false", "data-k": `strength-${s.key}`, "data-strength": s.key || "as-is", "data-tip": this.t(s.tip), "data-key": s.digit,
        onclick: () => this.send("strength", { key: s.key }) }, h("b", {}, this.t(s.label)), this.t(s.value)))) : null;
    const figures = (f.figures || []).map((x) => h("div", { cls: `gx-fig${x.key === "cores" ? " gx-wide" : ""}`, "data-figure": x.key, "data-tip": this.t(x.tip) },
      h("span", { cls: "gx-l" }, this.t(x.label)), h("span", { cls: `gx-v${x.plain ? " gx-plain" : ""}${x.bad ? " gx-err" : ""}` }, this.value(x), x.unit ? h("small", {}, ` ${x.unit}`) : null),
      x.notes.map((n) => h("span", { cls: "gx-d" }, this.t(n))), this.origin(x.origin)));
    const n = f.issues;
    this.fill(this.figs, [seg, ...figures, h("span", { cls: "gx-sp" }), n === null || n === undefined ? null :
      h("button", { type: "button", cls: "gx-bt", "data-k": "issues", "data-tip": this.w("issues"), "data-key": "I", onclick: () => this.set({ tab: "issues" }) }, svgIcon("warn"), this.w("issues"), h("b", {}, String(n)))]);
    this.squeeze();
  }
  // Fonts differ in width, so the row is measured: first less space between the figures, then fewer of them, never a cut one.
  squeeze() {
    const row = this.figs, levels = ["gx-tight", "gx-nocores", "gx-nonotes", "gx-wrap"];
    row.classList.remove(...levels);
    for (const c of levels) if (row.clientWidth && row.scrollWidth > row.clientWidth) row.classList.add(c);
  }
  // "24 / 24 cube  48 / 48 vector": numbers strong, the rest small
  value(x) {
    if (x.key !== "cores" || x.plain) return this.t(x.value);
    return this.t(x.value).split("  ").map((p, i) => { const [n, ...rest] = p.split(" "); return [i ? "\u2002" : "", n, h("small", {}, ` ${rest.join(" ")}`)]; }).flat();
  }

  // ---- strip
  get steps() { return (this.data.strip?.chapters || []).flatMap((c) => c.steps); }
  visible(s) { return !this.model.get("quiet") || !this.quietSet().has(s.index) || s.index === this.step || s.index === this.compare; }
  quietSet() { return new Set(this.data.strip?.quiet || []); }
  drawStrip() {
    const m = this.data.strip || { chapters: [], count: 0 }, hidden = this.model.get("quiet");
    const control = h("div", { cls: "gx-sc" },
      h("div", { cls: "gx-row" }, this.icon("prev", this.w("prev"), "←", () => this.move(-1), { disabled: this.step <= -1 }), h("b", { cls: "gx-b" }, `${this.w("step")} ${this.step + 1}`), h("span", { cls: "gx-2" }, `\u00a0/ ${m.count}`),
        this.icon("next", this.w("next"), "→", () => this.move(1), { disabled: this.step >= m.count - 1 })),
      h("button", { type: "button", cls: "gx-hide", role: "checkbox", "aria-checked": hidden ? "true" : "false", "data-k": "quiet", "data-tip": this.w("hide"), "data-key": "H", onclick: () => this.set({ quiet: !hidden }) }, h("span", { cls: "gx-cb" }), this.w("hide")));
    const scroll = this.sw?.scrollLeft || 0;
    this.sw = h("div", { cls: "gx-sw" });
    this.left = h("button", { type: "button", cls: "gx-more gx-left", hidden: true, "data-tip": this.w("earlier"), onclick: () => this.page(-1) });
    this.right = h("button", { type: "button", cls: "gx-more gx-right", hidden: true, "data-tip": this.w("later"), onclick: () => this.page(1) });
    for (const c of m.chapters) {
      const row = h("div", {});
      let run = [];
      const flush = () => {
        if (!run.length) return;
        row.append(h("button", { type: "button", cls: "gx-fold", "data-k": `fold-${run[0].index}`, "data-tip": `${run.length} ${this.w("folded")}`, "data-key": "H", "aria-label": `${run.length} ${this.w("folded")}`,
          onclick: () => { this.wanted = { key: c.key, step: this.step }; this.set({ quiet: false }); } }, h("b", {}, "⋯"), h("i", {}, String(run.length))));
        run = [];
      };
      for (const s of c.steps) if (this.visible(s)) { flush(); row.append(this.chip(s)); } else run.push(s);
      flush();
      const changed = c.steps.filter((s) => !this.quietSet().has(s.index)), names = changed.slice(0, 8).map((s) => this.t(s.title)).join(this.lang === "zh" ? "、" : ", ") + (changed.length > 8 ? " …" : "");
      const shut = h("button", { type: "button", cls: "gx-fold gx-shutb", "data-k": `chapter-${c.key}`, "data-tip": names, "aria-label": `${this.t(c.title)}: ${names}`, onclick: () => { this.wanted = { key: c.key, step: this.step }; this.compact(); this.handles(); } },
        h("b", {}, "⋯"), h("i", {}, `${changed.length} / ${c.steps.length}`));
      this.sw.append(h("div", { cls: "gx-ch", role: "group", "aria-label": this.t(c.title), "data-chapter": c.key, "data-changed": changed.length || null }, h("span", {}, this.t(c.title)), row, shut));
    }
    this.hd = h("div", { cls: "gx-hd" });
    this.tail = h("div", { cls: "gx-tail" }); // room behind the last chapter, so that a chapter can stand whole at the left
    this.sw.append(this.tail, this.hd);
    this.strip.setAttribute("aria-label", this.w("strip"));
    this.fill(this.strip, [control, this.left, this.sw, this.right]);
    this.compact();
    this.sw.scrollLeft = scroll;
    this.sw.addEventListener("scroll", () => this.counts());
    this.handles();
  }
  chip(s) {
    const kind = { disabled: "gx-off", failed: "gx-bad", not_run: "gx-nr", unchanged: "gx-quiet", skipped: "gx-quiet" }[s.status] || "";
    const cur = s.index === this.step, cmp = s.index === this.compare, on = s.status !== "disabled";
    const title = this.t(s.title) + (s.scope ? ` · ${s.scope}` : "");
    return h("div", { cls: `gx-chip ${kind}${cur ? " gx-cur" : ""}${cmp && !cur ? " gx-cmp" : ""}`, "data-step": s.index, "data-pass": s.key, "data-status": s.status },
      h("button", { type: "button", cls: "gx-go", "aria-current": cur ? "step" : null, "data-k": `go-${s.index}`, "data-tip": `${this.t(s.tip)} ${this.w("chipTip")}`, "data-key": "←|→", onclick: (e) => {
        e.currentTarget.focus({ preventScroll: true });
        if (e.shiftKey) this.set({ compare: cmp ? -2 : s.index });
        else this.set({ step: s.index });
      } }, h("b", {}, title), h("i", {}, this.t(s.badge))),
      h("button", { type: "button", cls: "gx-tg", role: "checkbox", "aria-checked": on ? "true" : "false", "aria-label": title, "data-k": `tg-${s.index}`, "data-tip": `${this.w(on ? "off" : "on")}: ${title}`, disabled: !s.can_toggle,
        onclick: () => this.send("toggle", { key: s.key, on: !on }) }, h("span", { cls: "gx-cb" })));
  }
  // All chapters stay in sight: while the strip is too wide, those farthest from the current step shrink to a count of their steps.
  compact() {
    if (!this.sw?.isConnected || !this.sw.clientWidth) return;
    const all = [...this.sw.querySelectorAll(".gx-ch")], of = (i) => all.findIndex((c) => c.querySelector(`[data-step="${i}"]`));
    const wanted = this.wanted?.step === this.step ? all.findIndex((c) => c.dataset.chapter === this.wanted.key) : -1;
    const open = [Math.max(0, of(this.step)), of(this.compare), wanted].filter((i) => i >= 0);
    for (const c of all) c.classList.remove("gx-shut");
    this.tail.style.width = "0px";
    const far = (i) => Math.min(...open.map((k) => Math.abs(i - k)));
    const order = all.map((c, i) => i).filter((i) => !open.includes(i) && all[i].dataset.changed).sort((a, b) => far(b) - far(a) || a - b);
    for (const i of order) { if (this.sw.scrollWidth <= this.sw.clientWidth) break; all[i].classList.add("gx-shut"); }
  }
  move(d, trait = "step") {
    const now = trait === "compare" && this.compare < -1 ? this.step : this.model.get(trait);
    const list = [-1, ...this.steps.filter((s) => this.visible(s)).map((s) => s.index)];
    const next = d > 0 ? list.find((i) => i > now) : list.filter((i) => i < now).pop();
    if (next !== undefined) this.set({ [trait]: next });
  }
  // Filled triangle: current step; hollow: compare step; a line between them. Then bring the current step into view.
  handles() {
    if (!this.sw?.isConnected || !this.sw.clientWidth) return;
    const at = (i) => this.sw.querySelector(`[data-step="${i}"]`), a = at(this.step), b = this.compare >= -1 ? at(this.compare) : null;
    const asked = this.wanted?.step === this.step ? this.sw.querySelector(`[data-chapter="${this.wanted.key}"] .gx-chip`) : null, goal = asked || a;
    const centre = (e) => e.offsetLeft + e.offsetWidth / 2;
    this.hd.replaceChildren();
    if (a) {
      const xa = centre(a), xb = b ? centre(b) : xa, from = Math.min(xa, xb), w = Math.abs(xa - xb), A = xa - from, B = xb - from;
      this.hd.style.left = `${from}px`;
      const s = svg(7, ...(b && b !== a ? [[`M0 3.5H${w}`, "none", "var(--ink)"], [`M${B - 4.5} 7 ${B} 0l4.5 7Z`, "var(--bg)", "var(--ink)"]] : []), [`M${A - 5} 7 ${A} -.5l5 7.5Z`, "var(--ink)"]);
      s.setAttribute("viewBox", `0 0 ${Math.max(1, w)} 7`);
      s.setAttribute("width", Math.max(1, w));
      s.setAttribute("height", 7);
      this.hd.append(s);
      this.reveal(goal);
      this.counts();
      this.reveal(goal); // the counter buttons just shown take room from the strip
      requestAnimationFrame(() => { this.reveal(goal); this.counts(); }); // once laid out with its final width
    }
    this.counts();
  }
  reveal(a) {
    const chapters = [...this.sw.querySelectorAll(".gx-ch")], right = a.offsetLeft + a.offsetWidth + 24, left = a.offsetLeft - 24;
    if (right > this.sw.scrollLeft + this.sw.clientWidth) {
      const first = (list) => list.find((c) => c.offsetLeft >= right - this.sw.clientWidth && c.offsetLeft <= left + 24);
      this.start((first(chapters) || first([...this.sw.querySelectorAll(".gx-chip")]) || { offsetLeft: right - this.sw.clientWidth }).offsetLeft);
    }
    else if (left < this.sw.scrollLeft) this.start(Math.max(0, (chapters.filter((c) => c.offsetLeft <= a.offsetLeft).pop() || { offsetLeft: left }).offsetLeft));
  }
  // After a change of width: the current step in view again, whole chapters (or chips) from the left edge on.
  snap() {
    const a = this.sw?.querySelector(`[data-step="${this.step}"]`), x = this.sw?.scrollLeft;
    if (!a || !x) return;
    const edges = [...this.sw.querySelectorAll(".gx-ch, .gx-chip")];
    if (edges.some((e) => Math.abs(e.offsetLeft - x) <= 4)) return;
    this.sw.scrollLeft = 0;
    this.reveal(a);
    this.counts();
  }
  start(x) {
    const used = this.sw.scrollWidth - this.tail.offsetWidth;
    this.tail.style.width = `${used > this.sw.clientWidth ? Math.max(0, x + this.sw.clientWidth - used) : 0}px`;
    this.sw.scrollLeft = x;
  }
  counts() {
    const chapters = [...this.sw.querySelectorAll(".gx-ch")], x = this.sw.scrollLeft, end = x + this.sw.clientWidth;
    const before = chapters.filter((c) => c.offsetLeft + 20 < x).length, after = chapters.filter((c) => c.offsetLeft + 40 > end).length;
    this.left.hidden = !before;
    this.left.textContent = `‹ ${before}`;
    this.right.hidden = !after;
    this.right.textContent = `${after} ›`;
  }
  page(d) {
    const starts = [...this.sw.querySelectorAll(".gx-ch")].map((c) => c.offsetLeft), x = this.sw.scrollLeft;
    this.start(d > 0 ? starts.find((v) => v > x + 8) ?? x : starts.filter((v) => v < x - 8).pop() ?? 0);
  }

  key(e) {
    if (e.defaultPrevented || e.altKey || e.target.closest?.("input, textarea, select, [contenteditable=true]")) return;
    const command = e.ctrlKey || e.metaKey, k = e.key;
    if (command && k.toLowerCase() === "z") this.send(e.shiftKey ? "redo" : "undo", {});
    else if (command) return;
    else if ((k === "ArrowLeft" || k === "ArrowRight") && !e.target.closest?.("[role=tab]")) this.move(k === "ArrowRight" ? 1 : -1, e.shiftKey ? "compare" : "step");
    else if (/^[0-3]$/.test(k)) { const s = (this.data.figures?.strengths || [])[+k]; if (s) this.send("strength", { key: s.key }); }
    else if (k === "/") this.input.focus();
    else if (k === "." || k === ",") this.send("find", { dir: k === "." ? 1 : -1, query: this.input.value });
    else if (k === "h" || k === "H") this.set({ quiet: !this.model.get("quiet") });
    else if (k === "i" || k === "I") this.set({ tab: "issues" });
    else if (k === "y" || k === "Y") this.copyState();
    else if (k === "l" || k === "L") this.set({ layout_mode: this.model.get("layout_mode") === "lanes" ? "layered" : "lanes" });
    else if (k === "p" || k === "P") this.el.closest(".gx-explorer")?.querySelector('.gx-inspector [data-k="pin"]')?.click();
    else if (k === "?") this.help(this.bar.querySelector('[data-k="help"]'));
    else if (k === "Escape") { if (this.compare >= -1) this.set({ compare: -2 }); else this.set({ selected: [] }); }
    else return;
    e.preventDefault();
    e.stopPropagation();
  }
}
function svgIcon(name) { const s = svg(16, [ICONS[name], "none", "currentColor"]); s.setAttribute("class", "gx-svg"); s.style.cssText = "width:13px;height:13px"; return s; }

class Tabs extends Part {
  constructor(model, el) {
    super(model, el, "tabs");
    el.setAttribute("role", "tablist");
    for (const k of ["data", "lang", "tab"]) this.on(`change:${k}`, () => this.draw());
    this.listen(el, "keydown", (e) => {
      const list = this.data.tabs || [], i = list.findIndex((x) => x.key === this.model.get("tab"));
      const d = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!d || !list.length) return;
      this.set({ tab: list[(i + d + list.length) % list.length].key });
      this.el.querySelector("[aria-selected=true]")?.focus();
      e.preventDefault();
      e.stopPropagation();
    });
    this.draw();
  }
  draw() {
    const now = this.model.get("tab");
    this.el.setAttribute("aria-label", this.w("views"));
    const items = (this.data.tabs || []).map((x) => h("button", { type: "button", role: "tab", "aria-selected": x.key === now ? "true" : "false", tabindex: x.key === now ? "0" : "-1", "data-k": `tab-${x.key}`, "data-tab": x.key,
      onclick: () => this.set({ tab: x.key }) }, this.t(x.label), x.count === null || x.count === undefined ? null : h("span", { cls: "gx-ct" }, String(x.count))));
    this.fill(this.el, items);
    this.state();
    this.el.dataset.gxTab = now;
  }
}

class Inspector extends Part {
  constructor(model, el) {
    super(model, el, "inspector");
    this.box = h("aside", { cls: "gx-ins", tabindex: "-1" });
    el.append(this.box);
    el.style.height = "100%";
    for (const k of ["data", "lang", "selected", "step"]) this.on(`change:${k}`, () => this.draw());
    this.draw();
  }
  draw() {
    const m = this.pinned || this.data;
    this.box.setAttribute("aria-label", this.w("inspector"));
    const same = this.last === `${m.ref}|${this.lang}`, top = this.box.scrollTop;
    this.last = `${m.ref}|${this.lang}`;
    const title = m.titles ? this.t(m.titles) : m.title;
    const sections = (m.sections || []).map((s, i) => this.section(s, i === 0 ? [
      h("div", { cls: "gx-row", style: "gap:8px" }, this.mark(m.mark), h("h3", {}, title || ""), h("span", { cls: "gx-sp" }),
        this.icon("pin", this.w("pin"), "P", () => { this.pinned = this.pinned ? null : this.data; this.draw(); }, { "aria-pressed": this.pinned ? "true" : "false" }),
        this.icon("copy", this.w("copyText"), "", (e) => this.copy(this.plain(m), () => {}))),
      h("div", { cls: "gx-2", style: "margin:2px 0 8px" }, this.t(m.subtitle), this.pinned ? ` · ${this.w("pinned")}` : "", m.more ? ` · +${m.more} ${this.w("more")}` : "")] : []));
    this.fill(this.box, sections);
    this.box.scrollTop = same ? top : 0;
    this.state();
    this.el.dataset.gxRef = m.ref || "";
  }
  section(s, head) {
    return h("section", {}, head, s.title ? h("h4", {}, this.t(s.title), s.note ? h("span", { cls: "gx-2" }, this.t(s.note)) : null) : null, s.text ? h("p", { cls: "gx-q" }, this.t(s.text)) : null,
      s.facts ? h("dl", {}, s.facts.map((f) => [h("dt", {}, this.t(f.label)), h("dd", {}, this.t(f.value), f.note ? h("span", { cls: "gx-2" }, ` (${f.note})`) : null, this.origin(f.origin))])) : null,
      s.trail ? h("ol", { cls: "gx-tr" }, s.trail.map((d) => this.decision(d))) : null, s.rows?.length ? s.rows.map((r) => this.row(r)) : null);
  }
  decision(d) {
    const change = d.to === null && d.from === null ? "" : d.from === null || d.from === d.to ? d.to : `${d.from} → ${d.to ?? "–"}`;
    return h("li", { cls: d.final ? "gx-win" : d.quiet ? "gx-dis" : "" },
      h("div", { cls: "gx-h" }, h("button", { type: "button", onclick: () => this.set({ step: d.step }), "data-k": `why-${d.step}-${this.t(d.facet)}` }, this.t(d.title)), h("span", { cls: d.final ? "gx-b" : "gx-2" }, change)),
      h("div", { cls: "gx-q" }, this.t(d.text)), d.evidence?.length ? h("div", { cls: "gx-q" }, d.evidence.map((x, i) => [i ? ", " : "", this.link(x.text, x.ref)]).flat()) : null, this.source(d.source, d.path));
  }
  link(text, ref) { return h("button", { type: "button", cls: "gx-link", "data-ref": ref, "data-k": `ref-${ref}`, onclick: () => this.set({ selected: [ref] }) }, text); }
  row(r) { return h("div", { cls: "gx-ln2" }, this.mark(r.mark), this.link(r.text, r.ref), h("span", { cls: "gx-2 gx-r" }, this.t(r.note), this.origin(r.origin))); }
  plain(m) {
    const out = [`${m.titles ? this.t(m.titles) : m.title} (${this.t(m.subtitle)})`];
    for (const s of m.sections || []) {
      if (s.title) out.push("", `${this.t(s.title)} ${s.note ? this.t(s.note) : ""}`.trim());
      for (const f of s.facts || []) out.push(`${this.t(f.label)}: ${this.t(f.value)}`);
      for (const d of s.trail || []) out.push(`${d.final ? "*" : "-"} ${this.t(d.title)}: ${d.from ?? ""} -> ${d.to ?? ""} ${this.t(d.text)} [${d.path}]`);
      for (const r of s.rows || []) out.push(`- ${r.text} ${this.t(r.note)}`.trim());
    }
    return out.join("\n");
  }
}

class State extends Part {
  constructor(model, el) {
    super(model, el, "notice");
    for (const k of ["data", "lang"]) this.on(`change:${k}`, () => this.draw());
    this.on("change:ack", () => this.state(this.waiting));
    this.draw();
  }
  draw() {
    const d = this.data;
    this.fill(this.el, d.kind === "failed" ? [this.failed(d)] : d.kind === "one_stream" ? [this.oneStream(d)] : d.text ? [h("div", { cls: "gx-state" }, d.title ? h("h3", {}, this.t(d.title)) : null, h("p", { cls: "gx-q" }, this.t(d.text)))] : []);
    this.el.dataset.gxKind = d.kind || "";
    this.state(this.waiting);
  }
  failed(d) {
    return h("div", { cls: "gx-state gx-fail", role: "alert" }, h("h3", {}, h("span", { cls: "gx-err" }, this.t(d.title)), " ", h("span", { cls: "gx-2", style: "font-size:12px" }, d.code || d.ge_status || "")),
      h("div", {}, d.what, d.where ? h("span", { cls: "gx-2" }, ` (${d.where})`) : null), h("div", { cls: "gx-q" }, d.todo ? `${d.todo} ` : "", this.t(d.note), " ", this.source(d.source.split("/").pop(), d.source)),
      h("div", { cls: "gx-acts" }, d.repairs.map((r, i) => h("button", { type: "button", cls: `gx-bt ${i ? "gx-ln" : "gx-pri"}`, "data-k": `repair-${i}`, onclick: () => {
        this.home();
        if (r.action === "select") this.set({ selected: r.refs });
        else this.send(r.action, { key: r.key, on: r.on, value: r.value });
      } }, this.t(r.label)))));
  }
  oneStream(d) {
    const act = (r, i) => h("button", { type: "button", cls: `gx-bt ${i ? "gx-ln" : "gx-pri"}`, style: "height:22px", "data-k": `try-${r.key}`, onclick: () => { this.home(); this.send(r.action, { name: r.key, key: r.key }); } }, this.w("try_"));
    const first = d.rows.findIndex((r) => r.action);
    return h("div", { cls: "gx-state" }, h("h3", {}, this.t(d.title)), h("p", { cls: "gx-q" }, this.t(d.text), " ", this.source(d.source, d.path)),
      h("div", { cls: "gx-row", style: "gap:24px;margin:10px 0 8px;flex-wrap:wrap" }, d.facts.map((f) => h("span", {}, h("b", { cls: "gx-b" }, f.value), " ", h("span", { cls: "gx-2" }, this.t(f.label)), this.origin(f.origin)))),
      d.verdict ? h("p", { style: "margin-bottom:8px" }, this.t(d.verdict)) : null,
      h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, this.w("gives")), h("th", { cls: "gx-r" }, "us"), h("th", { cls: "gx-r" }, this.w("streams")), h("th", { cls: "gx-r" }, this.w("events")), h("th", { cls: "gx-r" }, "MiB"), h("th", {}))),
        h("tbody", {}, d.rows.map((r, i) => h("tr", {}, h("td", {}, this.t(r.label)), h("td", { cls: "gx-r" }, h("b", { cls: "gx-b" }, this.t(r.us))), h("td", { cls: "gx-r" }, r.streams), h("td", { cls: "gx-r" }, r.events), h("td", { cls: "gx-r" }, r.mib), h("td", { cls: "gx-r" }, r.action ? act(r, i - first) : null))))));
  }
}

class Status extends Part {
  constructor(model, el) {
    super(model, el, "status");
    el.classList.add("gx-foot");
    for (const k of ["data", "lang"]) this.on(`change:${k}`, () => this.draw());
    this.draw();
  }
  draw() {
    const d = this.data;
    this.fill(this.el, [h("span", { cls: "gx-b", style: "color:var(--ink)" }, this.t(d.label)), h("span", { cls: "gx-al", role: "status", "data-tip": this.t(d.sentence) }, this.t(d.sentence)), h("span", { cls: "gx-sp" }),
      ...Object.keys(ORIGINS).map((k) => { const o = this.origin(k); o.style.margin = "0 4px 0 0"; return h("span", { cls: "gx-wide" }, o, ORIGINS[k][this.lang === "zh" ? 3 : 2]); }), h("span", {}, `${this.w("rules")}: ${d.rules || ""}`)]);
    this.state();
  }
}

const PARTS = { top: Top, tabs: Tabs, inspector: Inspector, state: State, status: Status };
// Draw one part of the shell into `el`; returns the clean-up function.
export function mountShell(el, model) {
  const part = new PARTS[model.get("part")](model, el);
  return () => part.stop();
}
// A model for pages without a kernel: the same get/set/on/off/save_changes.
export function stubShellModel(state) {
  const values = { ...state }, handlers = {}, dirty = new Set();
  return {
    get: (k) => values[k],
    set(k, v) { values[k] = v; dirty.add(k); (handlers[`change:${k}`] || []).slice().forEach((f) => f()); },
    save_changes() { dirty.clear(); },
    on(e, f) { (handlers[e] ||= []).push(f); },
    off(e, f) { handlers[e] = (handlers[e] || []).filter((g) => g !== f); },
  };
}
// Keep some traits of several models equal (what ipywidgets' jslink does in a notebook).
export function linkModels(models, names) {
  for (const name of names) for (const m of models) m.on(`change:${name}`, () => {
    for (const other of models) if (other !== m && JSON.stringify(other.get(name)) !== JSON.stringify(m.get(name))) other.set(name, m.get(name));
  });
}
export default { render({ model, el }) { return mountShell(el, model); } };
