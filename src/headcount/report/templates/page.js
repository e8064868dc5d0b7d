"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  document.querySelectorAll(".scripted").forEach((part) => { part.hidden = false; });

  const save = (name, blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const unpacked = (text, type) => {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream, { headers: { "Content-Type": type } }).blob();
  };
  byId("csv").addEventListener("click", async () =>
    save("headcount.csv", await unpacked(data.csv_gzip, "text/csv")));
  byId("json").addEventListener("click", () => {
    const text = JSON.stringify(data.analysis, null, 1);
    save("headcount.json", new Blob([text], { type: "application/json" }));
  });

  const root = document.documentElement;
  const theme = byId("theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  prefersDark.addEventListener("change", nameTheme);
  nameTheme();

  const counted = byId("show-cc");
  if (counted) {
    counted.addEventListener("change", () =>
      document.body.classList.toggle("no-cc", !counted.checked));
  }

  const key = (row, column) => {
    // Marks of significance are not part of the number.
    const parts = Array.from(row.cells[column].childNodes);
    const text = parts.map((part) => (part.nodeName === "SUP" ? "" : part.textContent)).join("").trim();
    const digits = text.replace(/[<,%]/g, "");
    return digits !== "" && Number.isFinite(Number(digits)) ? Number(digits) : text;
  };
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  const sort = (table, heading, column) => {
    const down = heading.getAttribute("aria-sort") === "ascending";
    table.querySelectorAll("th[aria-sort]").forEach((th) => th.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [key(row, column), row]);
    rows.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
    body.append(...rows.map((pair) => pair[1]));
  };
  document.querySelectorAll("table.sortable").forEach((table) => {
    Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent;
      heading.replaceChildren(button);
      button.addEventListener("click", () => sort(table, heading, column));
    });
  });

  // A hint above every part that scrolls, where there is more than is in view.
  document.querySelectorAll(".scroll, .plot").forEach((part) => {
    const hint = document.createElement("p");
    hint.className = "hint";
    part.before(hint);
    const look = () => {
      const across = part.scrollWidth > part.clientWidth + 1;
      const down = part.scrollHeight > part.clientHeight + 1;
      hint.hidden = !across && !down;
      const ways = [across && "sideways", down && "down"].filter(Boolean).join(" and ");
      hint.textContent = `${across ? "↔" : "↕"} Scroll ${ways} for the rest`;
    };
    new ResizeObserver(look).observe(part);
    look();
  });

  // Our own hints come at once; the browser's would come beside them.
  const tip = byId("tip");
  document.querySelectorAll(".mark").forEach((mark) => {
    const title = mark.querySelector("title");
    mark.dataset.tip = title.textContent;
    title.remove();
  });
  const move = (event) => {
    const mark = event.target.closest && event.target.closest(".mark");
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18;
    const fits = below + tip.offsetHeight < innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${fits ? below : event.clientY - tip.offsetHeight - 12}px`;
  };
  document.addEventListener("pointermove", move);
  document.addEventListener("pointerdown", move);
  document.addEventListener("pointerleave", () => { tip.hidden = true; });
})();
