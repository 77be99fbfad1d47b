/* 0, 1 and 2 grade the page that has the focus; j and k, or the arrows, go down and up. Nothing needs it. */
const judged = [...document.querySelectorAll(".judged > li")];
const start = document.querySelector(".judged > li:target") ?? document.querySelector(".judged > li.open");
start?.focus();
addEventListener("keydown", (event) => {
  const at = document.activeElement;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (/^(input|textarea|select)$/i.test(at.tagName)) return;
  const n = judged.findIndex((each) => each.contains(at));
  if (/^[012]$/.test(event.key) && n >= 0 && !event.repeat) judged[n].querySelector(`button[value="${event.key}"]`).click();
  else if (event.key === "j" || event.key === "ArrowDown") judged[Math.min(n + 1, judged.length - 1)].focus();
  else if (event.key === "k" || event.key === "ArrowUp") judged[Math.max(n - 1, 0)].focus();
  else return;
  event.preventDefault();
});
