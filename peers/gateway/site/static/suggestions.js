/* Below the question stands how it may go on: arrows choose, Enter asks, Escape leaves it as it was typed. Nothing
   needs it: as long as no answer has come there is no list. The pattern is WAI-ARIA's combobox with a list box. */
(() => {
  const question = document.getElementById("q");
  if (!question) return;
  const list = document.createElement("ul");
  let typed = "", chosen = -1, timer = 0, asked = new AbortController();
  const attributes = { id: "suggestions", role: "listbox", "aria-label": question.labels[0].textContent };
  for (const name in attributes) list.setAttribute(name, attributes[name]);
  question.after(list);
  question.setAttribute("role", "combobox");
  question.setAttribute("aria-autocomplete", "list");
  question.setAttribute("aria-controls", list.id);

  const show = (texts) => {
    chosen = -1;
    list.replaceChildren(...texts.map((text, n) => {
      const option = document.createElement("li");
      for (const [name, value] of [["id", `suggestion-${n}`], ["role", "option"], ["dir", "auto"]])
        option.setAttribute(name, value);
      option.textContent = text;
      return option;
    }));
    list.hidden = texts.length === 0;
    question.setAttribute("aria-expanded", String(!list.hidden));
    question.removeAttribute("aria-activedescendant");
  };
  const close = () => {
    clearTimeout(timer);
    asked.abort();
    if (!list.hidden) show([]);
  };
  const choose = (n) => {
    const options = [...list.children];
    chosen = n >= options.length || n < -1 ? (n < 0 ? options.length - 1 : -1) : n;
    options.forEach((option, at) => option.setAttribute("aria-selected", String(at === chosen)));
    question.value = options[chosen]?.textContent ?? typed;
    if (chosen < 0) question.removeAttribute("aria-activedescendant");
    else question.setAttribute("aria-activedescendant", options[chosen].id);
  };
  const ask = async () => {
    asked.abort();
    asked = new AbortController();
    typed = question.value;
    try {
      const answer = await fetch(`/api/suggest?q=${encodeURIComponent(typed)}`, { signal: asked.signal });
      const [of, texts] = answer.ok ? await answer.json() : [typed, []];
      if (of === typed && question.value === typed && document.activeElement === question) show(texts);
    } catch { /* slow, away, or something else has been typed since */ }
  };
  const later = (event) => {
    clearTimeout(timer);
    if (event.isComposing) return;
    if (question.value.trim()) timer = setTimeout(ask, 120);
    else close();
  };

  show([]);
  question.addEventListener("input", later);
  question.addEventListener("compositionend", later);
  question.addEventListener("blur", close);
  question.form.addEventListener("submit", close);
  question.addEventListener("keydown", (event) => {
    if (list.hidden || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else if (event.key === "Escape") { question.value = typed; close(); }
    else return;
    event.preventDefault();
  });
  list.addEventListener("mousedown", (event) => event.preventDefault()); /* or the question loses its focus */
  list.addEventListener("click", (event) => {
    question.value = event.target.closest("li").textContent;
    question.form.requestSubmit();
  });
})();
