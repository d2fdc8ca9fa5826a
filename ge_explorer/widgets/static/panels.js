// A panel's text part: shows HTML that Python has escaped, reports clicks, measures the page's colours,
// and (for chart panels) brings BokehJS into the page when it is not there yet.
function colours(el) {
  const style = getComputedStyle(el);
  const hex = (name, fallback) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name}, ${fallback})`;
    el.appendChild(probe);
    const parts = getComputedStyle(probe).color.match(/[\d.]+/g) || [];
    probe.remove();
    return parts.length < 3 ? fallback : "#" + parts.slice(0, 3).map((v) => Math.round(+v).toString(16).padStart(2, "0")).join("");
  };
  return { w: Math.round(el.clientWidth / 20) * 20, bg: hex("--jp-layout-color1", "#ffffff"), fg: hex("--jp-ui-font-color0", "#000000"), font: style.fontFamily };
}

function render({ model, el }) {
  el.classList.add("gxp");
  const body = document.createElement("div");
  body.className = "gxp-body";
  el.appendChild(body);
  const draw = () => {
    const held = body.contains(document.activeElement) ? document.activeElement : null, top = el.parentElement?.scrollTop ?? 0;
    const key = (n) => ["data-ref", "data-do", "data-value"].map((k) => n.getAttribute(k) || "").join(" ");
    const focus = held && (held.hasAttribute("data-ref") || held.hasAttribute("data-do")) ? key(held) : null;
    body.innerHTML = model.get("html");
    el.setAttribute("lang", model.get("lang"));
    el.setAttribute("data-gx-panel", model.get("name"));
    if (focus) [...body.querySelectorAll("[data-ref], [data-do]")].find((n) => key(n) === focus)?.focus({ preventScroll: true });
    if (el.parentElement) el.parentElement.scrollTop = top;
    el.setAttribute("data-gx-state", "ready");
  };
  const pick = (target) => {
    const found = target.closest("[data-do], [data-ref]");
    if (!found || !body.contains(found) || found.matches("select, input")) return false;
    const what = found.getAttribute("data-do");
    model.set("clicked", what ? { do: what, value: found.getAttribute("data-value") || "", n: Date.now() } : { ref: found.getAttribute("data-ref"), n: Date.now() });
    model.save_changes();
    return true;
  };
  body.addEventListener("click", (e) => pick(e.target));
  body.addEventListener("keydown", (e) => {
    if ((e.key === "Enter" || e.key === " ") && e.target.matches("[data-ref][tabindex]") && pick(e.target)) e.preventDefault();
  });
  const commit = (form) => {
    const value = form.type === "checkbox" ? String(form.checked) : form.value;
    model.set("clicked", { do: form.getAttribute("data-do"), value, n: Date.now() });
    model.save_changes();
  };
  body.addEventListener("change", (e) => e.target.matches("select[data-do], input[data-do]") && commit(e.target));
  body.addEventListener("keydown", (e) => e.key === "Enter" && e.target.matches("input[type=search]") && commit(e.target));
  const fitted = ["compare", "memory-table"].includes(model.get("name")); // their pictures are drawn to this width
  const measure = () => {
    const now = colours(el);
    const old = model.get("ground") || {};
    const wider = fitted && now.w > 0 && now.w !== old.w;
    if (wider || now.bg !== old.bg || now.fg !== old.fg || now.font !== old.font) {
      model.set("ground", now);
      model.save_changes();
    }
  };
  const later = () => requestAnimationFrame(() => el.isConnected && measure());
  const watch = new MutationObserver(() => setTimeout(later, 60)); // Lab swaps the style sheet after the attribute
  watch.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
  const save = (message) => {
    if (!message || message.kind !== "download") return;
    const url = URL.createObjectURL(new Blob([message.text], { type: message.mime }));
    const link = Object.assign(document.createElement("a"), { href: url, download: message.name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 2000);
  };
  const sizes = new ResizeObserver(later);
  if (fitted) sizes.observe(el);
  model.on("msg:custom", save);
  model.on("change:html", draw);
  draw();
  later();

  const wanted = model.get("bokeh");
  if (wanted) {
    const report = () => {
      model.set("loaded", { version: String(window.Bokeh?.version || ""), n: Date.now() });
      model.save_changes();
    };
    const receive = (message) => {
      if (!message || message.kind !== "bokehjs") return;
      if (!window.Bokeh) {
        const script = document.createElement("script");
        script.textContent = message.code;
        document.head.appendChild(script);
        script.remove();
      }
      report();
    };
    model.on("msg:custom", receive);
    if (window.Bokeh) report();
    else model.send({ kind: "need-bokehjs" });
  }
  return () => {
    watch.disconnect();
    sizes.disconnect();
    model.off("change:html", draw);
    model.off("msg:custom", save);
  };
}
export default { render };
