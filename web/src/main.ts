// The page of the live view.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { App } from "./app";

new App(document.getElementById("app")!).start();
