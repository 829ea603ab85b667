"use strict";
(() => {
  const steps = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement, body = document.body, pane = $("pane");
  const rows = [...document.querySelectorAll(".row.step")];
  let chosen = null;

  const shown = () => rows.filter((row) => row.offsetParent !== null);
  const indexOf = (row) => Number(row.dataset.index);
  const rowOf = (index) => rows[index];
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  function box(row) {
    const card = row.querySelector(".card").getBoundingClientRect(), ground = $("body").getBoundingClientRect();
    return { left: card.left - ground.left, right: card.right - ground.left, top: card.top - ground.top,
      bottom: card.bottom - ground.top, middle: (card.left + card.right) / 2 - ground.left, height: card.height };
  }

  function curve(group, from, to, kind) {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const rightwards = to.middle > from.middle, reach = 26;
    const x1 = rightwards ? from.right : from.left, x2 = rightwards ? to.left : to.right;
    const y1 = from.bottom - Math.min(12, from.height / 2), y2 = to.top + Math.min(12, to.height / 2);
    const bend = rightwards ? reach : -reach;
    path.setAttribute("d", `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`);
    path.setAttribute("class", kind);
    path.setAttribute("marker-end", `url(#tip-${kind})`);
    group.append(path);
  }

  function drawSwitches() {
    const group = $("switches"), visible = shown();
    group.replaceChildren();
    visible.forEach((row, place) => {
      const step = steps[indexOf(row)], before = visible[place - 1];
      if (before && steps[indexOf(before)].task !== step.task) {
        const since = steps.slice(indexOf(before) + 1, indexOf(row) + 1).find((each) => each.switch);
        curve(group, box(before), box(row), since ? since.switch.why : "blocked");
      }
    });
  }

  function drawConflicts() {
    const group = $("conflicts");
    group.replaceChildren();
    rows.forEach((row) => row.classList.remove("partner", "chosen"));
    if (chosen === null) return;
    rowOf(chosen).classList.add("chosen");
    for (const other of steps[chosen].partners) {
      const row = rowOf(other);
      if (row.offsetParent === null) continue;
      row.classList.add("partner");
      const [first, second] = other < chosen ? [row, rowOf(chosen)] : [rowOf(chosen), row];
      curve(group, box(first), box(second), "conflict");
    }
  }

  function tell(step) {
    const head = make("h3", `lane-${step.lane}`, `${step.number} · ${step.task}`);
    const parts = [head, make("p", "action", step.action + (step.fields ? ` ${step.fields}` : "") + (step.expired ? " (in vain)" : ""))];
    if (step.where) parts.push(make("p", "place", step.where));
    if (step.switch) {
      const how = step.switch.why === "preempted" ? "instead" : "now";
      parts.push(make("p", "", `${step.switch.reason}; '${step.task}' goes on ${how}.`));
    }
    if (step.switch && step.switch.over) parts.push(make("p", "", `By default, '${step.switch.over}' would have gone on.`));
    if (step.others.length) parts.push(make("p", "hint", `could have gone on, too: ${step.others.join(", ")}`));
    if (step.time !== null) parts.push(make("p", "hint", `time passes to ${step.time} s`));
    const table = make("table");
    for (const access of step.accesses) {
      const line = make("tr"), value = make("td", "access");
      if (access.whole !== null && access.value !== null) value.append(`${access.whole} = `);
      if (access.before !== null && access.before !== access.value) value.append(make("span", "was", access.before));
      value.append(access.value === null ? "" : access.value);
      line.append(make("td", "", access.writes ? "writes" : "reads"), make("td", "access", access.target), value);
      table.append(line);
    }
    for (const change of step.changes) {
      const line = make("tr"), cell = make("td", "access", change);
      cell.colSpan = 2;
      line.append(make("td", "", "state"), cell);
      table.append(line);
    }
    if (table.childElementCount) parts.push(table);
    pane.replaceChildren(...parts);
  }

  function choose(row, scroll, silent) {
    chosen = indexOf(row);
    tell(steps[chosen]);
    drawConflicts();
    if (scroll) row.scrollIntoView({ block: "nearest" });
    if (!silent) history.replaceState(null, "", `#step-${steps[chosen].number}`);
  }

  function walk(by, sameTask) {
    const visible = shown();
    let place = chosen === null ? (by > 0 ? -1 : visible.length) : visible.indexOf(rowOf(chosen));
    do { place += by; } while (sameTask && visible[place] && chosen !== null && steps[indexOf(visible[place])].task !== steps[chosen].task);
    if (visible[place]) choose(visible[place], true);
  }

  function showAll(all) {
    $("all").checked = all;
    body.classList.toggle("only-matters", !all);
    drawSwitches();
    drawConflicts();
  }

  function turn() {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }

  function copy() {
    const code = $("command");
    if (!code) return;
    const selection = getSelection(), range = document.createRange();
    range.selectNodeContents(code);
    selection.removeAllRanges();
    selection.addRange(range);
    const done = () => { $("copy").textContent = "copied"; setTimeout(() => { $("copy").textContent = "copy"; }, 1200); };
    if (navigator.clipboard && isSecureContext) navigator.clipboard.writeText(code.textContent).then(done, () => {});
    else if (document.execCommand("copy")) done();
  }

  const keys = {
    ArrowDown: () => walk(1, false), ArrowUp: () => walk(-1, false), j: () => walk(1, false), k: () => walk(-1, false),
    ArrowRight: () => walk(1, true), ArrowLeft: () => walk(-1, true),
    a: () => showAll(body.classList.contains("only-matters")), c: copy, t: turn,
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  rows.forEach((row) => row.querySelector(".card").addEventListener("mouseenter", () => choose(row, false)));
  $("all").addEventListener("change", (event) => showAll(event.target.checked));
  $("theme").addEventListener("click", turn);
  if ($("copy")) $("copy").addEventListener("click", copy);
  addEventListener("resize", () => { drawSwitches(); drawConflicts(); });
  const named = location.hash && document.querySelector(location.hash);
  if (named && named.offsetParent === null) showAll(true);
  drawSwitches();
  const causes = rows.filter((row) => row.classList.contains("cause"));
  if (named) choose(named, true, true);
  else if (causes.length) choose(causes[causes.length - 1], false, true);
  root.dataset.ready = String(document.querySelectorAll("#switches path").length);
})();
