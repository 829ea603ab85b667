"use strict";
(() => {
  const { lasted_s: lasted, plot, charts } = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement, drawn = [...document.querySelectorAll(".chart")];
  const legends = drawn.map((chart) => chart.parentElement.querySelector(".legend"));
  const values = legends.map((legend) => [...legend.querySelectorAll("b")]);
  const last = values.map((those) => those.map((value) => value.textContent));
  const wide = plot.width - plot.left - plot.right;

  function nearest(points, at) {
    let low = 0, high = points.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (points[middle][0] < at) low = middle; else high = middle;
    }
    return at - points[low][0] < points[high][0] - at ? points[low] : points[high];
  }

  function spoken(at) {
    const whole = Math.round(at), two = (number) => String(number).padStart(2, "0");
    return `at ${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  }

  function tell(at) {
    drawn.forEach((chart, which) => {
      const cursor = chart.querySelector(".cursor"), x = plot.left + wide * (at || 0) / lasted;
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      cursor.setAttribute("visibility", at === null ? "hidden" : "visible");
      values[which].forEach((value, series) => {
        value.textContent = at === null ? last[which][series] : nearest(charts[which][series], at)[1];
      });
      legends[which].querySelector(".moment").textContent = at === null ? "last seen" : spoken(at);
    });
  }

  for (const chart of drawn) {
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect();
      const share = ((event.clientX - box.left) / box.width * plot.width - plot.left) / wide;
      tell(Math.min(Math.max(share, 0), 1) * lasted);
    });
    chart.addEventListener("pointerleave", () => tell(null));
  }
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  const named = location.hash.match(/^#at-(\d+)$/);
  if (named) tell(Number(named[1]));
  root.dataset.ready = String(drawn.length);
})();
