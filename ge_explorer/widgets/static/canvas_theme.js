// Graph canvas, part 1: colours and hatches. Everything neutral derives from JupyterLab's variables; only streams have own colours.

const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

function rgb(text, fallback) {
  probe.fillStyle = fallback;
  probe.fillStyle = text || fallback; // an invalid colour leaves the fallback
  probe.clearRect(0, 0, 1, 1);
  probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);
}
const mix = (a, b, percent) => a.map((v, i) => Math.round((v * percent + b[i] * (100 - percent)) / 100));
const css = (c) => `rgb(${c[0]},${c[1]},${c[2]})`;
const rgbInt = (c) => (255 << 24) | (c[2] << 16) | (c[1] << 8) | c[0]; // one little-endian ImageData pixel

/** Read Lab's variables at ``el`` and derive all colours; once per theme change. */
function readTheme(el, streams) {
  const style = getComputedStyle(el), forced = matchMedia("(forced-colors: active)").matches;
  const pick = (name, fallback) => rgb(style.getPropertyValue(name).trim(), fallback);
  const bg = forced ? rgb("Canvas", "#fff") : pick("--jp-layout-color1", "#fff");
  const fg = forced ? rgb("CanvasText", "#000") : pick("--jp-ui-font-color0", bg[0] + bg[1] + bg[2] < 380 ? "#fff" : "#000");
  const dark = bg[0] + bg[1] + bg[2] < 380;
  const ground = (percent) => css(mix(fg, bg, percent));
  const theme = {
    dark, forced, bg: css(bg), ink: ground(88), ink2: ground(65), ink3: ground(46), faded: ground(20), line: ground(11), line2: ground(22),
    lane: ground(3.5), ring: forced ? "Highlight" : ground(32), outline: forced ? "Highlight" : ground(88),
    font: style.fontFamily || "sans-serif", gone: ground(46),
  };
  const swatch = (c, k) => {
    const solid = rgb(c, "#7a7a7a");
    return {
      solid: css(solid), fill: css(mix(solid, bg, dark ? 17 : 13)), mark: css(mix(solid, bg, dark ? 30 : 24)),
      border: css(mix(solid, bg, 62)), pixel: rgbInt(mix(solid, bg, 75)), hatch: k, pattern: null,
    };
  };
  theme.streams = streams.map((s) => swatch(dark ? s.dark : s.light, s.hatch));
  theme.none = { solid: css(mix(fg, bg, 46)), fill: css(bg), mark: css(bg), border: css(mix(fg, bg, 46)), pixel: rgbInt(mix(fg, bg, 34)), hatch: "none", pattern: null, none: true };
  return theme;
}

const HATCH_LINES = {
  slash: [[-1, 1, 1, -1], [0, 6, 6, 0], [5, 7, 7, 5]], backslash: [[-1, 5, 1, 7], [0, 0, 6, 6], [5, -1, 7, 1]], horizontal: [[0, 3, 6, 3]],
  vertical: [[3, 0, 3, 6]], cross: [[0, 0, 6, 6], [6, 0, 0, 6]], plus: [[0, 3, 6, 3], [3, 0, 3, 6]],
};

/** 6 px tile of a stream's hatch at device resolution, or null for "none". Made on first use. */
function hatchOf(ctx, swatch, dpr) {
  if (swatch.hatch === "none") return null;
  if (swatch.pattern && swatch.dpr === dpr) return swatch.pattern;
  const tile = document.createElement("canvas"), size = Math.max(1, Math.round(6 * dpr));
  tile.width = tile.height = size;
  const c = tile.getContext("2d");
  c.scale(size / 6, size / 6);
  c.strokeStyle = c.fillStyle = swatch.solid;
  c.lineWidth = 1;
  if (swatch.hatch === "dots") {
    for (const [x, y] of [[1.5, 1.5], [4.5, 4.5]]) { c.beginPath(); c.arc(x, y, 1, 0, 7); c.fill(); }
  } else {
    c.beginPath();
    for (const [x0, y0, x1, y1] of HATCH_LINES[swatch.hatch] || []) { c.moveTo(x0, y0); c.lineTo(x1, y1); }
    c.stroke();
  }
  swatch.pattern = ctx.createPattern(tile, "repeat");
  swatch.pattern.setTransform(new DOMMatrix().scale(6 / size, 6 / size));
  swatch.dpr = dpr;
  return swatch.pattern;
}
