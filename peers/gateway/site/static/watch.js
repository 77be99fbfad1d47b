/* Notices are put above those of the page as they come, and counted. Nothing needs it: who loads the page again has
   the same. A notice that is there already, by its page, its text and its entry, is not put there again. */
(() => {
  const list = document.getElementById("notices");
  const known = new Set();
  const name = (notice) => JSON.stringify([notice.url, notice.mark, notice.entry]);
  const make = (kind, text, attributes = {}) => {
    const element = document.createElement(kind);
    element.textContent = text;
    for (const each in attributes) element.setAttribute(each, attributes[each]);
    return element;
  };
  const item = (notice) => {
    const [start, end] = notice.highlight, letters = Array.from(notice.excerpt);
    const title = make("h2", "", { dir: "auto" });
    title.append(make("a", notice.title || notice.url, { href: notice.url, rel: "noreferrer" }));
    const where = make("p", "", { class: "where" });
    const at = new Date(notice.at_s * 1000).toISOString().replace("T", " ").replace(/\.\d+Z$/, "Z");
    const entry = make("span", "");
    entry.append(make("strong", notice.entry));
    where.append(make("bdi", notice.url, { class: "address" }), entry, make("span", at));
    const snippet = make("p", letters.slice(0, start).join(""), { class: "snippet", dir: "auto" });
    snippet.append(make("mark", letters.slice(start, end).join("")), letters.slice(end).join(""));
    const article = make("article", ""), line = make("li", "");
    article.append(title, where, snippet);
    line.append(article);
    return line;
  };
  const count = (entry) => {
    for (const cell of document.querySelectorAll("td[data-entry]"))
      if (cell.dataset.entry === entry) cell.textContent = String(Number(cell.textContent) + 1);
  };
  const events = new EventSource(`/api/watch/events?after=${encodeURIComponent(list.dataset.after)}`);
  events.onmessage = (event) => {
    const notice = JSON.parse(event.data);
    if (!notice.url || known.has(name(notice))) return;
    known.add(name(notice));
    list.prepend(item(notice));
    count(notice.entry);
    while (list.children.length > 100) list.lastElementChild.remove();
  };
})();
