"use strict";
// The static page: one state, everything is drawn from it. Names are only ever set as text; ready HTML comes escaped from Python.
(() => {
  const D = JSON.parse(document.getElementById("data").textContent);
  const NS = "http://www.w3.org/2000/svg", G = D.graph, LAST = D.steps.length - 1;
  const S = { step: LAST, selected: null, tab: "timeline", lang: "en", quiet: true };
  const t = (v) => (S.lang === "zh" ? v.zh || v.en : v.en), z = (en, zh) => (S.lang === "zh" ? zh : en);
  const h = (tag, props, ...kids) => {
    const el = document.createElement(tag);
    for (const [k, v] of Object.entries(props || {})) {
      if (k.startsWith("on")) el.addEventListener(k.slice(2), v);
      else if (k === "html") el.innerHTML = v;
      else if (v !== null && v !== false) el.setAttribute(k, v);
    }
    for (const c of kids.flat()) if (c !== null && c !== undefined && c !== "") el.append(c);
    return el;
  };
  const s = (tag, props) => {
    const el = document.createElementNS(NS, tag);
    for (const [k, v] of Object.entries(props)) el.setAttribute(k, v);
    return el;
  };
  const W = 84, H = 34, DX = 104, DY = 48, LEFT = 96;
  const at = (k) => [LEFT + G.nodes[k][3] * DX, 12 + G.nodes[k][4] * DY];
  const index = new Map(G.nodes.map((n, k) => [n[0], k]));
  const app = document.getElementById("app");
  const parts = {};
  for (const name of ["top", "strip", "main", "tabs", "panel", "foot"]) app.append((parts[name] = h("div", {})));
  parts.top.className = "gx-bar"; parts.strip.className = "gx-strip"; parts.main.className = "gx-main";
  parts.tabs.className = "gx-tabs"; parts.panel.className = "gx-panel"; parts.foot.className = "gx-foot";
  parts.tabs.setAttribute("role", "tablist");
  const canvas = h("div", { class: "gx-graph" }), side = h("div", { class: "gx-side" });
  parts.main.append(canvas, side);

  // ---------------------------------------------------------------- the graph, drawn once; a step changes classes only
  const root = s("svg", { role: "img", tabindex: "0" }), edges = s("g", {}), events = s("g", {}), nodes = s("g", {}), heads = s("g", {});
  root.append(edges, events, nodes, heads);
  canvas.append(root);
  // Never behind a node: along a row it arcs over the nodes between; an event leaves downwards or arrives from below.
  const route = (a, b, event) => {
    const [x0, y0] = at(a), [x1, y1] = at(b), sx = x0 + W, sy = y0 + H / 2, ex = x1, ey = y1 + H / 2, m = Math.max(18, (ex - sx) / 2);
    if (y0 === y1 && ex - sx > DX) return `M${sx - 10} ${y0}C${sx + 8} ${y0 - 12} ${sx + 8} ${y0 - 9} ${sx + 24} ${y0 - 9}H${ex - 24}C${ex - 8} ${y0 - 9} ${ex - 8} ${y0 - 12} ${ex + 10} ${y0}`;
    if (event && y1 > y0) return `M${x0 + W / 2} ${y0 + H}V${ey - 6}Q${x0 + W / 2} ${ey} ${x0 + W / 2 + 6} ${ey}H${ex}`;
    if (event && y1 < y0) return `M${sx} ${sy}H${x1 + W / 2 - 6}Q${x1 + W / 2} ${sy} ${x1 + W / 2} ${sy - 6}V${y1 + H}`;
    return `M${sx} ${sy}C${sx + m} ${sy} ${ex - m} ${ey} ${ex} ${ey}`;
  };
  const ruler = document.createElement("canvas").getContext("2d");
  const cut = (text, room, bold) => {
    ruler.font = `${bold ? 600 : 400} 11px ${getComputedStyle(document.body).fontFamily}`;
    if (ruler.measureText(text).width <= room) return text;
    let n = Math.min(text.length, 40);
    while (n > 1 && ruler.measureText(text.slice(0, n) + "…").width > room) n -= 1;
    return text.slice(0, n) + "…";
  };
  const edgeEls = G.edges.map(([a, b, control]) => {
    const p = s("path", { class: "gx-edge" + (control ? " control" : ""), d: route(a, b) });
    edges.append(p);
    return p;
  });
  const nodeEls = G.nodes.map(([id, name, op], k) => {
    const [x, y] = at(k), g = s("g", { "data-ref": `node:${id}`, tabindex: "-1" });
    g.append(s("rect", { class: "box", x, y, width: W, height: H, rx: 2 }), s("rect", { class: "edge", x, y, width: 3, height: H }));
    const a = s("text", { x: x + 8, y: y + 14, class: "head" }), b = s("text", { x: x + 8, y: y + 28, class: "op" }), tip = s("title", {});
    a.textContent = cut(name, W - 12, true); b.textContent = cut(op, W - 12); tip.textContent = `${name} (${op})`;
    g.append(a, b, tip);
    nodes.append(g);
    return g;
  });
  const size = { w: LEFT + (Math.max(0, ...G.nodes.map((n) => n[3])) + 1) * DX, h: 24 + (Math.max(0, ...G.nodes.map((n) => n[4])) + 1) * DY };
  const view = { x: 0, y: 0, w: size.w, h: size.h };
  const look = () => root.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
  const fitAll = () => {
    const r = canvas.getBoundingClientRect(), k = Math.max(size.w / Math.max(1, r.width), size.h / Math.max(1, r.height), 0.6);
    const max = Math.min(k, 1.5); // very deep graphs open at a readable scale, at their beginning
    Object.assign(view, { w: r.width * max, h: r.height * max, x: 0, y: Math.min(0, (size.h - r.height * max) / 2) });
    look();
  };
  root.addEventListener("wheel", (e) => {
    e.preventDefault();
    const r = root.getBoundingClientRect(), f = Math.exp(e.deltaY * 0.0015), px = (e.clientX - r.left) / r.width, py = (e.clientY - r.top) / r.height;
    const w = Math.min(size.w * 4 + 400, Math.max(120, view.w * f)), hh = (view.h * w) / view.w;
    Object.assign(view, { x: view.x + (view.w - w) * px, y: view.y + (view.h - hh) * py, w, h: hh });
    look();
  }, { passive: false });
  let drag = null, moved = false;
  root.addEventListener("pointerdown", (e) => { drag = [e.clientX, e.clientY, view.x, view.y]; moved = false; });
  window.addEventListener("pointermove", (e) => {
    if (!drag) return;
    const r = root.getBoundingClientRect(), dx = e.clientX - drag[0], dy = e.clientY - drag[1];
    if (Math.abs(dx) + Math.abs(dy) > 4) moved = true;
    if (moved) { view.x = drag[2] - (dx * view.w) / r.width; view.y = drag[3] - (dy * view.h) / r.height; look(); }
  });
  window.addEventListener("pointerup", () => { drag = null; });

  function drawGraph() {
    const now = G.steps[S.step + 1] || [], chosen = S.selected && S.selected.startsWith("node:") ? index.get(+S.selected.slice(5)) : undefined;
    const pair = S.selected && S.selected.startsWith("event:") ? G.events[S.step + 1].find((e) => e[3] === +S.selected.slice(6)) : null;
    nodeEls.forEach((g, k) => {
      const i = now[k], lit = k === chosen || (pair && (pair[0] === k || pair[1] === k));
      g.setAttribute("class", "gx-node" + (i >= 0 ? ` gxp-c${i % 8}` : i === -1 ? " none" : " none absent") + (lit ? " on" : ""));
    });
    const ordered = new Set(G.events[S.step + 1].map((e) => `${e[0]} ${e[1]}`)); // the event is drawn in place of its edge
    edgeEls.forEach((p, k) => p.setAttribute("visibility", ordered.has(`${G.edges[k][0]} ${G.edges[k][1]}`) ? "hidden" : "visible"));
    edgeEls.forEach((p, k) => p.classList.toggle("on", chosen !== undefined && (G.edges[k][0] === chosen || G.edges[k][1] === chosen)));
    events.textContent = "";
    for (const [a, b, id, uid] of G.events[S.step + 1]) {
      const p = s("path", { class: "gx-edge event" + (S.selected === `event:${uid}` ? " on" : ""), d: route(a, b, true), "data-ref": `event:${uid}` }), tip = s("title", {});
      tip.textContent = `${z("event", "事件")} ${id}`;
      p.append(tip);
      events.append(p);
    }
    heads.textContent = "";
    for (const [key, first] of G.lanes) {
      const text = s("text", { x: 6, y: 12 + first * DY + 20, class: "head" });
      text.textContent = key < 0 ? z("no stream", "无流") : `${D.marks[key].replace(/<[^>]*>/g, "")} ${t(D.roles[key])}`;
      heads.append(text);
    }
    root.setAttribute("aria-label", t(D.sentence));
  }

  // ---------------------------------------------------------------- the rest
  const go = (step) => { S.step = Math.max(-1, Math.min(LAST, step)); draw(); };
  function drawTop() {
    const theme = document.documentElement.dataset.theme === "dark";
    parts.top.replaceChildren(
      h("h1", {}, D.title), h("span", { class: "gxp-muted" }, [D.chip, D.strength].filter(Boolean).join(", ")),
      h("button", { id: "prev", onclick: () => go(S.step - 1), "aria-label": z("Previous step", "上一步") }, "‹"),
      h("span", { id: "where" }, z(`Step ${S.step + 1} / ${LAST + 1}`, `第 ${S.step + 1} / ${LAST + 1} 步`)),
      h("button", { id: "next", onclick: () => go(S.step + 1), "aria-label": z("Next step", "下一步") }, "›"),
      h("button", { id: "quiet", "aria-pressed": S.quiet ? "true" : "false", onclick: () => { S.quiet = !S.quiet; draw(); } }, S.quiet ? z("Show unchanged", "显示无变化") : z("Hide unchanged", "隐藏无变化")),
      h("span", { class: "gx-sp" }),
      h("button", { id: "fit", onclick: fitAll }, z("Fit", "适应窗口")),
      h("button", { id: "lang", onclick: () => { S.lang = S.lang === "en" ? "zh" : "en"; document.documentElement.lang = S.lang; draw(); } }, z("中文", "EN")),
      h("button", { id: "theme", onclick: () => { document.documentElement.dataset.theme = theme ? "light" : "dark"; draw(); } }, theme ? z("Light", "浅色") : z("Dark", "深色")));
  }
  function drawStrip() {
    const chip = (k, title, small, cls) => h("button", { "data-step": k, "aria-current": k === S.step ? "true" : null, class: cls || null, onclick: () => go(k) }, title, h("small", {}, small));
    const out = [chip(-1, z("Start", "初始"), "")];
    let folded = 0;
    const flush = () => {
      if (folded) out.push(h("button", { class: "gx-fold", title: z("Show steps that changed nothing", "显示无变化的步骤"), onclick: () => { S.quiet = false; draw(); } }, "⋯", h("small", {}, String(folded))));
      folded = 0;
    };
    D.steps.forEach((x, k) => {
      if (S.quiet && k !== S.step && (x.status === "unchanged" || x.status === "skipped")) { folded += 1; return; }
      flush();
      out.push(chip(k, t(x.title), x.error ? z("failed", "失败") : t(x.badge), x.status === "failed" ? "gx-failed" : x.status === "disabled" ? "gx-off" : ""));
    });
    flush();
    parts.strip.replaceChildren(...out);
  }
  function drawSide() {
    side.replaceChildren();
    const ref = S.selected, step = D.steps[S.step];
    if (ref && ref.startsWith("node:") && index.has(+ref.slice(5))) {
      const k = index.get(+ref.slice(5)), [id, name, op] = G.nodes[k], i = (G.steps[S.step + 1] || [])[k];
      side.append(h("h2", {}, name), h("div", { class: "gxp-muted" }, op));
      side.append(i >= 0 ? h("p", {}, h("span", { html: D.marks[i] }), t(D.roles[i])) : h("p", { class: "gxp-muted" }, z("no stream", "无流")));
      const trail = D.why[id] || [];
      side.append(h("b", {}, z(`Why: ${trail.length} decision${trail.length === 1 ? "" : "s"}`, `原因：${trail.length} 个决策`)));
      side.append(h("ol", {}, trail.map(([at_, facet, before, after, rule, source, now]) => h("li", { class: now ? "now" : null },
        h("b", {}, t(D.steps[at_].title)), ` ${t(facet)}: ${before} → ${after}`, h("div", { class: "gxp-muted" }, t(rule)), h("div", { class: "gxp-code gxp-muted" }, source)))));
      if (!trail.length && D.trails_left_out) side.append(h("p", { class: "gxp-note" }, z("Why-trails of this page stop before this node.", "本页未保存该节点的决策。")));
    } else {
      side.append(h("h2", {}, step ? t(step.title) : z("Start", "初始")), h("p", { class: "gxp-muted" }, step ? step.name : ""));
      if (ref) side.append(h("p", {}, ref));
      if (step && step.reason) side.append(h("p", {}, t(step.reason)));
      if (step && step.error) side.append(h("p", { class: "gxp-error" }, step.error));
      side.append(h("p", {}, t(D.sentence)));
      if (G.left_out) side.append(h("p", { class: "gxp-note" }, z(`${G.left_out} constants and other nodes are not drawn.`, `${G.left_out} 个常量等节点未画出。`)));
    }
  }
  const TABS = [["timeline", "Timeline", "时间线"], ["memory", "Memory", "内存"], ["events", "Events", "事件"], ["streams", "Streams", "流"], ["diff", "Diff", "差异"], ["mermaid", "Mermaid", "Mermaid"], ["runtime", "Runtime", "运行时"], ["issues", "Issues", "问题"]];
  function drawTabs() {
    parts.tabs.replaceChildren(...TABS.map(([k, en, zh]) => h("button", { role: "tab", "data-tab": k, "aria-selected": k === S.tab ? "true" : "false", onclick: () => { S.tab = k; draw(); } }, z(en, zh))));
  }
  function drawPanel() {
    const tables = D.tables[S.lang], now = S.step + 1;
    if (S.tab === "mermaid") parts.panel.replaceChildren(h("pre", {}, D.mermaid));
    else parts.panel.innerHTML = S.tab in D.pictures[S.lang] ? D.pictures[S.lang][S.tab] || `<p class="gxp-note">${z("Nothing to draw.", "没有可画的内容。")}</p>` : D.texts[tables[S.tab].length === 1 ? tables[S.tab][0] : tables[S.tab][now]];
    if (S.selected) for (const el of parts.panel.querySelectorAll("[data-ref]")) if (el.getAttribute("data-ref") === S.selected) {
      if (el.tagName === "TR") el.setAttribute("aria-selected", "true"); else el.classList.add("on");
    }
  }
  function drawFoot() {
    parts.foot.replaceChildren(h("b", {}, t(D.kind)), h("span", {}, t(D.sentence)), h("span", { class: "gx-sp" }),
      ...D.origins.map(([mark, word]) => h("span", {}, `${mark} ${t(word)}`)), h("span", {}, z("GE rules: ", "GE 规则：") + D.rules));
  }
  function draw() {
    const held = document.activeElement && document.activeElement.id;
    for (const f of [drawTop, drawStrip, drawGraph, drawSide, drawTabs, drawPanel, drawFoot]) f();
    if (held && document.getElementById(held)) document.getElementById(held).focus();
    Object.assign(document.body.dataset, { gxState: "ready", gxStep: S.step, gxSelected: S.selected || "" });
  }
  document.addEventListener("click", (e) => {
    if (moved) { moved = false; return; }
    const hit = e.target.closest("[data-ref]");
    if (hit) { S.selected = hit.getAttribute("data-ref"); draw(); }
    else if (root.contains(e.target)) { S.selected = null; draw(); }
  });
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "ArrowLeft") go(S.step - 1);
    else if (e.key === "ArrowRight") go(S.step + 1);
    else if (e.key === "f" || e.key === "F") fitAll();
    else if (e.key === "Escape") { S.selected = null; draw(); }
    else if (e.key === "Enter" && e.target.closest && e.target.closest("[data-ref]")) { S.selected = e.target.closest("[data-ref]").getAttribute("data-ref"); draw(); }
    else return;
    e.preventDefault();
  });
  window.addEventListener("resize", fitAll);
  draw();
  fitAll();
})();
