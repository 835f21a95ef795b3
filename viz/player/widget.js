// The widget of a notebook: a page in a frame, whose position and that of the history in the kernel are the same.

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.title = model.get("title");
  frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 0`;
  const send = () => frame.contentWindow?.postMessage({ tagloom: { position: model.get("position") } }, "*");
  const receive = (event) => {
    const position = event.data?.tagloom?.position;
    if (event.source !== frame.contentWindow || !Number.isInteger(position) || position === model.get("position")) return;
    model.set("position", position);
    model.save_changes();
  };
  frame.addEventListener("load", send);
  addEventListener("message", receive);
  model.on("change:position", send);
  frame.srcdoc = model.get("html");
  el.append(frame);
  return () => {
    removeEventListener("message", receive);
    model.off("change:position", send);
  };
}

export default { render };
