"use strict";
(() => {
  // The slider looks up what it shows; every figure of it was computed and written out when the page was made.
  const found = document.getElementById("slid");
  const slid = found && JSON.parse(found.textContent);
  const slide = () => {
    const aim = document.querySelector("input[name=aim]:checked").value;
    const budget = document.getElementById("allowance");
    const guard = document.getElementById("guard").checked ? "guard" : "free";
    const answer = slid.answers[aim][guard][budget.valueAsNumber];
    const allowed = slid.allowed[budget.valueAsNumber];
    budget.setAttribute("aria-valuetext", allowed);
    document.getElementById("allowed").textContent = allowed;
    document.getElementById("said").textContent = answer.said;
    document.getElementById("command").textContent = answer.command;
    document.getElementById("meaning").textContent = slid.meanings[aim];
    const cells = slid.cells[answer.point];
    for (const cell of document.querySelectorAll("[data-cell]")) {
      const [text, note, tone] = cells[cell.dataset.cell];
      cell.className = `number ${tone}`;
      cell.querySelector("span").textContent = text;
      if (cell.querySelector("small")) cell.querySelector("small").textContent = note;
    }
    for (const figure of document.querySelectorAll("figure[data-aim]")) {
      figure.hidden = figure.dataset.aim !== aim;
      const [x, y] = slid.places[figure.dataset.aim][answer.point];
      if (x !== null && y !== null) figure.querySelector(".here").setAttribute("transform", `translate(${x} ${y})`);
    }
  };
  const back = () => {
    const [aim, place, guard] = slid.start;
    document.querySelector(`input[name=aim][value=${aim}]`).checked = true;
    document.getElementById("allowance").value = place;
    document.getElementById("guard").checked = guard;
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

  // A method's button hides and shows its marks in every figure.
  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const { method } = button.dataset;
      const hide = button.getAttribute("aria-pressed") === "true";
      for (const other of document.querySelectorAll(`.legend button[data-method="${method}"]`)) {
        other.setAttribute("aria-pressed", String(!hide));
      }
      for (const mark of document.querySelectorAll(`.drawing [data-method="${method}"]`)) {
        mark.style.display = hide ? "none" : "";
      }
    });
  }
})();
