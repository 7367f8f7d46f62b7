// mdBook's button of the sidebar is a label, which has a name and a state only with a role.
document.getElementById("mdbook-sidebar-toggle")?.setAttribute("role", "button");
