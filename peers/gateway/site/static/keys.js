/* "/" goes to the question; j and k, or the arrows from there, go from result to result. Nothing needs it. */
addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const question = document.getElementById("q");
  const at = document.activeElement;
  const links = [...document.querySelectorAll(".results h2 a")];
  const n = links.indexOf(at);
  const isText = /^(input|textarea|select)$/i.test(at.tagName);
  const isArrow = n >= 0 || at === question;
  if (event.key === "/" && !isText) question.select();
  else if ((event.key === "j" && !isText) || (event.key === "ArrowDown" && isArrow)) links[n + 1]?.focus();
  else if ((event.key === "k" && !isText) || (event.key === "ArrowUp" && n >= 0)) (links[n - 1] ?? question).focus();
  else return;
  event.preventDefault();
});
