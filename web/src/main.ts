// The page of the live view.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { App } from "./app";
import { SocketConnection } from "./socket";

new App(document.getElementById("app")!, new SocketConnection()).start();
