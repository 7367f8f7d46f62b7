//! The simulated host behind the border router: servers, clients, and the losses of its link.

use redpoll_sim::{Scenario, World};

use super::run;

fn scenario(apps: &str) -> Scenario {
    let text = format!(
        "[topology]\nkind = \"positions\"\n[radio]\nmodel = \"ideal\"\n\
         [nodes]\nedge = {{ role = \"border\", position = [\"0 m\", \"0 m\"] }}\n\
         far = {{ position = [\"10 m\", \"0 m\"] }}\n{apps}"
    );
    Scenario::parse("host", &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn client(protocol: &str, more: &str) -> String {
    format!(
        "[apps.web]\ntype = \"{protocol}-server\"\non = \"far\"\nport = 80\nfile = \"1000 B\"\n\
         [apps.c]\ntype = \"{protocol}-client\"\non = \"host\"\nto = \"far:80\"\n\
         interval = \"2 s\"\n{more}"
    )
}

#[test]
fn clients_on_the_host_fetch_a_file_again_and_again() {
    for protocol in ["http", "coap"] {
        let mut world = World::new(&scenario(&client(protocol, "count = 10\n")), 1).unwrap();
        run(&mut world, 40);
        let flow = world.report().flows[0].clone();
        assert_eq!((flow.from.as_str(), flow.to.as_str()), ("host", "far"));
        let requests = flow.requests.expect("a flow of requests");
        assert_eq!(
            (requests.made, requests.answered, requests.failed),
            (10, 10, 0)
        );
        assert_eq!(flow.delivered_bytes, 10_000, "{protocol}");
        // A round trip takes at least twice 6 ms. CoAP needs one for each of several blocks; HTTP
        // needs at least two.
        let p50 = requests.latency_ms.p50.unwrap();
        assert!((24.0..400.0).contains(&p50), "{protocol}: {p50}");
    }
}

#[test]
fn connections_refused_by_the_far_end_fail() {
    for (protocol, other) in [("http", "bulk-sink"), ("coap", "http-server")] {
        let apps = format!(
            "[apps.web]\ntype = \"{protocol}-server\"\non = \"far\"\nport = 81\n\
             [apps.x]\ntype = \"{other}\"\non = \"far\"\nport = 80\n"
        );
        let text = client(protocol, "")
            .split("[apps.c]")
            .nth(1)
            .unwrap()
            .to_owned();
        let error = Scenario::parse(
            "host",
            &format!(
                "[topology]\nkind = \"line\"\nnodes = 1\nspacing = \"1 m\"\n\
                 [nodes.node-1]\nrole = \"border\"\n{}[apps.c]{}",
                apps.replace("\"far\"", "\"node-1\""),
                text.replace("far:80", "node-1:80")
            ),
            &[],
        )
        .unwrap_err()
        .to_string();
        assert!(error.contains(&format!("{protocol}-server")), "{error}");
    }
}

/// Checks losses at the border router, repaired by transports only (Kumar et al. 2020, figure 10).
#[test]
fn losses_between_border_router_and_host_are_the_transports_to_mend() {
    for transport in ["tcp", "coap", "cocoa", "unreliable", "ideal", "udp"] {
        let server = match transport {
            "tcp" => "type = \"bulk-sink\"",
            _ => "type = \"coap-server\"",
        };
        let apps = format!(
            "[apps.cloud]\n{server}\non = \"host\"\nport = {}\n\
             [apps.s]\ntype = \"sensor\"\non = \"far\"\nto = \"host:7\"\n\
             transport = \"{transport}\"\n\
             [faults.f]\ntype = \"drop-packets\"\nshare = \"10 %\"\n",
            if ["udp", "ideal"].contains(&transport) {
                8
            } else {
                7
            },
        );
        let mut world = World::new(&scenario(&apps), 1).unwrap();
        run(&mut world, 600);
        let flow = world.report().flows[0].clone();
        let readings = flow.readings.unwrap();
        assert_eq!(readings.made, 600);
        let is_reliable = !["udp", "unreliable"].contains(&transport);
        if is_reliable {
            assert_eq!(readings.lost, 0, "{transport}: {readings:?}");
            assert!(readings.delivered > 590, "{transport}: {readings:?}");
        } else {
            assert!(
                (30..=100).contains(&readings.lost),
                "{transport}: {readings:?}"
            );
        }
        if ["coap", "cocoa"].contains(&transport) {
            // A tenth of the requests and a tenth of the answers are lost.
            let repeated = flow.retransmissions.rto;
            assert!((80..200).contains(&repeated), "{transport}: {repeated}");
        }
    }
}

/// Checks that a sleepy leaf gets the answers that it expects, and sleeps otherwise.
#[test]
fn sleepy_sensors_wake_for_their_answers() {
    for transport in ["tcp", "coap", "cocoa", "unreliable", "ideal"] {
        let port = if transport == "ideal" { 8 } else { 7 };
        let server = if transport == "tcp" {
            "bulk-sink"
        } else {
            "coap-server"
        };
        let text = format!(
            "[topology]\nkind = \"positions\"\n[nodes]\n\
             edge = {{ role = \"border\", position = [\"0 m\", \"0 m\"] }}\n\
             leaf = {{ role = \"leaf\", sleepy = true, position = [\"10 m\", \"0 m\"] }}\n\
             [apps.cloud]\ntype = \"{server}\"\non = \"host\"\nport = {port}\n\
             [apps.s]\ntype = \"sensor\"\non = \"leaf\"\nto = \"host:7\"\nbatch = 64\n\
             transport = \"{transport}\"\n"
        );
        let scenario = Scenario::parse("host", &text, &[]).unwrap();
        let mut world = World::new(&scenario, 1).unwrap();
        // The first batch begins in the first 64 s.
        run(&mut world, 21 * 64);
        let report = world.report();
        let readings = report.flows[0].readings.clone().unwrap();
        assert_eq!(readings.lost, 0, "{transport}: {readings:?}");
        // The remaining readings wait for a full batch.
        assert!(readings.under_way < 64, "{transport}: {readings:?}");
        assert!(readings.delivered >= 19 * 64, "{transport}: {readings:?}");
        let duty_cycle = report.nodes[1].radio_duty_cycle;
        println!("{transport}: {:.2} %", duty_cycle * 100.0);
        assert!(duty_cycle < 0.05, "{transport}: {duty_cycle}");
    }
}

#[test]
fn plain_datagrams_to_a_coap_server_are_refused() {
    let apps = "[apps.s]\ntype = \"sensor\"\non = \"far\"\nto = \"host:5683\"\n\
                [apps.coap]\ntype = \"coap-server\"\non = \"host\"\n";
    let text = format!(
        "[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"1 m\"\n\
         [nodes.node-1]\nrole = \"border\"\n{}",
        apps.replace("\"far\"", "\"node-2\"")
    );
    let parse = |text: &str| Scenario::parse("host", text, &[]);
    let error = parse(&text).unwrap_err().to_string();
    assert!(error.contains("5683, which coap already uses"), "{error}");
    assert!(parse(&format!("{text}when = \"never\"\n")).is_ok());
}

#[test]
fn the_host_needs_a_border_router() {
    let text = "[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"1 m\"\n\
                [apps.a]\ntype = \"bulk-sink\"\non = \"host\"\nport = 7\n";
    let error = Scenario::parse("host", text, &[]).unwrap_err().to_string();
    assert!(error.contains("border"), "{error}");
}
