// Light, dark, or as the system has it. A classic script, so that the first picture has the right colours already.

window.theme = {
  names: ["auto", "light", "dark"],

  chosen() {
    try {
      return localStorage.getItem("theme") || "auto";
    } catch { // storage may be switched off
      return "auto";
    }
  },

  choose(name) {
    try {
      localStorage.setItem("theme", name);
    } catch { /* it holds for this page only */ }
    document.documentElement.dataset.theme = name;
    window.dispatchEvent(new Event("theme"));
  },
};

document.documentElement.dataset.theme = window.theme.chosen();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.dispatchEvent(new Event("theme")));
