// Pages that are opened as files may start no worker: the search runs in a hidden frame then, as the theme expects it.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = (this.inside = frame.contentWindow)
      inside.document.open()
      inside.document.write("<body></body>")
      inside.document.close()
      const load = (each) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script")
          Object.assign(script, { src: each, onload: done, onerror: failed })
          inside.document.body.append(script)
        })
      inside.importScripts = (...urls) => urls.reduce((before, each) => before.then(() => load(each)), Promise.resolve())
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      this.ready = load(url)
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
