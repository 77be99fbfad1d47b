/* How a live search goes on is put into the page. Nothing needs it: without it the page is loaded again. The line that
   says how far it is stays the same element, so that screen readers say what changes and nothing else. */
(() => {
  const main = document.querySelector("main[data-goes-on]");
  if (!main) return;
  const look = async () => {
    const answer = await fetch(location.href).catch(() => null);
    if (answer?.status === 403 || answer?.status === 404) return location.reload(); // which says why
    if (answer?.ok) {
      const now = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
      for (const part of ["[role=status]", ".results"])
        main.querySelector(part).replaceChildren(...now.querySelector(part).childNodes);
      if (!("goesOn" in now.dataset)) return;
    }
    setTimeout(look, 2000); // of a gateway that is busy, or away for a moment, too
  };
  setTimeout(look, 2000);
})();
