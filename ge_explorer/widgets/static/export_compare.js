"use strict";
// The page of a comparison: language, theme, one selection in both graphs, table and timelines, a filter. Nothing is fetched.
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  let chosen = "";
  const draw = () => {
    for (const el of all("[data-ref]")) {
      const on = chosen !== "" && el.getAttribute("data-ref") === chosen;
      if (el.tagName === "TR") { if (on) el.setAttribute("aria-selected", "true"); else el.removeAttribute("aria-selected"); } else el.classList.toggle("on", on);
    }
    document.body.dataset.gxSelected = chosen;
  };
  const select = (ref) => { chosen = ref; draw(); };
  document.addEventListener("click", (e) => {
    const act = e.target.closest("[data-act]");
    if (act && act.dataset.act === "theme") document.documentElement.dataset.theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    else if (act) {
      for (const m of all("main")) { m.hidden = !m.hidden; if (!m.hidden) document.documentElement.lang = m.lang; }
    } else {
      const hit = e.target.closest("[data-ref]");
      if (hit) select(hit.getAttribute("data-ref"));
      else if (e.target.closest(".gx-picture")) select("");
    }
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape") select("");
    else if (e.key === "Enter" && e.target.closest("[data-ref]")) select(e.target.closest("[data-ref]").getAttribute("data-ref"));
  });
  for (const box of all("[data-find]")) box.addEventListener("input", () => {
    const low = box.value.trim().toLowerCase();
    for (const row of all("tbody tr", box.closest("section"))) row.hidden = low !== "" && !row.textContent.toLowerCase().includes(low);
  });
  draw();
  document.body.dataset.gxState = "ready";
})();
