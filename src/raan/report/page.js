"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const config = { responsive: true, displayModeBar: false };
  const hidden = new Set();
  const PRINTED_WIDTH = 660; // what fits between the margins of A4

  // The specification with the page's present colours in place of the names of its variables.
  const coloured = (value, key) => {
    if (Array.isArray(value)) return value.map((item) => coloured(item, key));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, coloured(item, name)]));
    }
    const variable = typeof value === "string" && key.endsWith("color") && value.match(/^var\((--[\w-]+)\)$/);
    return variable ? getComputedStyle(document.documentElement).getPropertyValue(variable[1]).trim() : value;
  };

  const draw = (id, width) => {
    const place = document.getElementById(id);
    const { data, layout } = coloured(figures[id], "");
    for (const trace of data) trace.visible = !hidden.has(trace.legendgroup);
    layout.font.family = getComputedStyle(document.body).fontFamily;
    // Where a finger scrolls the page, a drag must not zoom the figure.
    layout.dragmode = matchMedia("(pointer: fine)").matches ? "zoom" : false;
    layout.autosize = width === undefined;
    if (width !== undefined) layout.width = width;
    Plotly.react(place, data, layout, config);
    // Plotly measures its texts in a drawing of its own, which is no picture for anyone.
    document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true");
  };

  // A page may hold many figures: each is drawn when it comes near the window.
  const drawn = new Set();
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting && !drawn.has(target.id)) {
        drawn.add(target.id);
        draw(target.id);
      }
    }
  }, { rootMargin: "600px" });
  for (const id of Object.keys(figures)) near.observe(document.getElementById(id));

  // The slider looks up what it shows; every figure of it was computed and written out when the page was made.
  const slid = document.getElementById("slid") && JSON.parse(document.getElementById("slid").textContent);
  const slide = () => {
    const aim = document.querySelector("input[name=aim]:checked").value;
    const allowance = document.getElementById("allowance");
    const floor = document.getElementById("floor").checked ? "floor" : "free";
    const answer = slid.answers[aim][floor][allowance.valueAsNumber];
    const said = slid.told[allowance.valueAsNumber];
    allowance.setAttribute("aria-valuetext", said);
    document.getElementById("allowed").textContent = said;
    document.getElementById("said").textContent = answer.said;
    document.getElementById("command").textContent = answer.command;
    const cells = slid.cells[answer.point];
    for (const cell of document.querySelectorAll("[data-cell]")) {
      const [text, note, tone] = cells[cell.dataset.cell];
      cell.className = `number ${tone}`;
      cell.querySelector("span").textContent = text;
      if (cell.querySelector("small")) cell.querySelector("small").textContent = note;
    }
    const figure = slid.figures[aim];
    const marker = figure.data[figure.data.length - 1];
    [marker.x, marker.y] = slid.places[aim][answer.point].map((value) => [value]);
    figures["trade-off"] = figure;
    document.getElementById("meaning").textContent = figure.meaning;
    document.getElementById("trade-off-title").textContent = figure.title;
    document.getElementById("trade-off-label").setAttribute("aria-label", figure.label);
    if (drawn.has("trade-off")) draw("trade-off");
  };
  const back = () => {
    const [aim, place, floor] = slid.start;
    document.querySelector(`input[name=aim][value=${aim}]`).checked = true;
    document.getElementById("allowance").value = place;
    document.getElementById("floor").checked = floor;
    slide();
  };
  const copy = async () => {
    const command = document.getElementById("command");
    const button = document.getElementById("copy");
    try {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
    } catch {
      // Where the browser keeps the clipboard to itself, the reader copies what is selected.
      getSelection().selectAllChildren(command);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };
  if (slid) {
    document.getElementById("slider").hidden = document.getElementById("slid-groups").hidden = false;
    document.getElementById("slider").addEventListener("input", slide);
    document.getElementById("copy").addEventListener("click", copy);
    document.getElementById("back").addEventListener("click", back);
    slide();
  }

  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const { method } = button.dataset;
      if (!hidden.delete(method)) hidden.add(method);
      for (const twin of document.querySelectorAll(`.legend button[data-method="${method}"]`)) {
        twin.setAttribute("aria-pressed", String(!hidden.has(method)));
      }
      for (const id of drawn) draw(id);
    });
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const id of drawn) draw(id);
  });
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.printing = "";
    for (const id of Object.keys(figures)) draw(id, PRINTED_WIDTH);
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.printing;
    for (const id of Object.keys(figures)) draw(id);
  });
})();
