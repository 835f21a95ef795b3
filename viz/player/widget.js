// The widget of a notebook: a page in a frame, whose position and that of the history in the kernel are the same. A
// position that the page has sent does not come back to it, since its reader may have gone on.

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.title = model.get("title");
  frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 0`;
  let shown;
  const send = () => {
    const position = model.get("position");
    if (position !== shown) frame.contentWindow?.postMessage({ tagloom: { position } }, "*");
    shown = position;
  };
  const receive = (event) => {
    const position = event.data?.tagloom?.position;
    if (event.source !== frame.contentWindow || !Number.isInteger(position)) return;
    shown = position;
    if (position === model.get("position")) return;
    model.set("position", position);
    model.save_changes();
  };
  frame.addEventListener("load", () => {
    shown = undefined;
    send();
  });
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
