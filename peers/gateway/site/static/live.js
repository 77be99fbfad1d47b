/* How a live search goes on is put into the page. Nothing needs it: without it the page is loaded again. The line that
   says how far it is stays the same element, so that screen readers say what changes and nothing else. */
(() => {
  const main = document.querySelector("main[data-goes-on]");
  if (!main) return;
  const look = async () => {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const now = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
    for (const part of ["[role=status]", ".results"])
      main.querySelector(part).replaceChildren(...now.querySelector(part).childNodes);
    if ("goesOn" in now.dataset) setTimeout(look, 2000);
  };
  setTimeout(look, 2000);
})();
