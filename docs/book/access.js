// mdBook's sidebar button is a label. Screen readers need a role to report its name and state.
document.getElementById("mdbook-sidebar-toggle")?.setAttribute("role", "button");
