use super::*;

fn tree_routes(graph: &Graph<'_>, root: usize) -> Routes {
    super::tree_routes(graph, root, &[])
}

/// Checks that of two million possible host routes, only the two thousand useful ones exist.
#[test]
fn a_long_line_has_the_routes_that_its_flows_take() {
    const NODES: usize = 2_000;
    let link = |node| Neighbour { node, cost: 1 };
    let around = |node: usize| {
        let before = node.checked_sub(1);
        let after = Some(node + 1).filter(|node| *node < NODES);
        before.into_iter().chain(after).map(link).collect()
    };
    let neighbours: Vec<Vec<_>> = (0..NODES).map(around).collect();
    let graph = Graph {
        neighbours: &neighbours,
        forwards: &[true; NODES],
    };
    let routes = super::tree_routes(&graph, 0, &[(NODES - 1, 0)]);
    let all: usize = routes.nodes.iter().map(|node| node.hosts.len()).sum();
    assert_eq!(all, NODES - 1);
    for (from, to) in [(NODES - 1, 0), (0, NODES - 1)] {
        assert_eq!(routes.path(from, to).map(|path| path.len()), Some(NODES));
    }
    // Every node reaches the root, but the root has no route to a node without a flow.
    assert!(routes.path(777, 0).is_some() && routes.path(0, 777).is_none());
}

/// Checks that flows between neighbours in a long line need no routes at other nodes.
#[test]
fn flows_of_a_long_line_have_routes_along_their_paths_only() {
    const NODES: usize = 2_000;
    let around = |node: usize| [node.wrapping_sub(1), node + 1].map(|it| it.min(NODES - 1));
    let neighbours: Vec<Vec<_>> = (0..NODES)
        .map(|node| {
            let mut of: Vec<_> = around(node).into_iter().filter(|it| *it != node).collect();
            if node == 0 {
                of = vec![1];
            }
            of
        })
        .collect();
    let neighbours = alike(&neighbours);
    let graph = Graph {
        neighbours: &neighbours,
        forwards: &[true; NODES],
    };
    let flows: Vec<_> = (0..NODES / 2).map(|k| (2 * k + 1, 2 * k)).collect();
    let routes = super::tree_routes(&graph, 0, &flows);
    let all: usize = routes.nodes.iter().map(|node| node.hosts.len()).sum();
    assert_eq!(all, NODES / 2);
    for (from, to) in flows {
        assert_eq!(routes.path(from, to), Some(vec![from, to]));
        assert_eq!(routes.path(to, from), Some(vec![to, from]));
    }
    // Several flows have paths through one node.
    let flows = [(1_999, 1_000), (1_500, 1_400), (1_450, 1_999)];
    let routes = super::tree_routes(&graph, 0, &flows);
    for (from, to) in flows {
        assert_eq!(length(&routes, from, to), Some(from.abs_diff(to)));
        assert_eq!(length(&routes, to, from), Some(from.abs_diff(to)));
    }
}

/// Checks on random graphs that a search up to a node finds the distances of a full search.
#[test]
fn a_search_that_stops_at_a_node_finds_the_same_distances() {
    let mut rng = redpoll_base::Rng::new(3);
    for _ in 0..200 {
        let count = 2 + rng.below_u64(30) as usize;
        let mut neighbours = vec![Vec::new(); count];
        for _ in 0..3 * count {
            let [a, b] = [(); 2].map(|()| rng.below_u64(count as u64) as usize);
            let cost = 1 + rng.below_u64(4) as u32;
            neighbours[a].push(Neighbour { node: b, cost });
            neighbours[b].push(Neighbour { node: a, cost });
        }
        let graph = Graph {
            neighbours: &neighbours,
            forwards: &vec![true; count],
        };
        let all = graph.distances(0, None);
        for (place, node) in all.order.iter().enumerate() {
            let some = graph.distances(0, Some(*node));
            assert_eq!(some.order, all.order[..=place]);
            assert_eq!(some.cost[*node], all.cost[*node]);
            let nearer = |distances| graph.nearer(distances, *node).collect::<Vec<_>>();
            assert_eq!(nearer(&some), nearer(&all));
        }
    }
}

/// 0 - 1 - 2 - 3
///     |       |
///     4 ----- 5
fn graph() -> Vec<Vec<Neighbour>> {
    alike(&[
        vec![1],
        vec![4, 0, 2],
        vec![1, 3],
        vec![2, 5],
        vec![1, 5],
        vec![4, 3],
    ])
}

/// Returns links of equal cost.
fn alike(neighbours: &[Vec<usize>]) -> Vec<Vec<Neighbour>> {
    let link = |node: &usize| Neighbour {
        node: *node,
        cost: 1,
    };
    let links = neighbours.iter().map(|of| of.iter().map(link).collect());
    links.collect()
}

fn length(routes: &Routes, from: usize, to: usize) -> Option<usize> {
    routes.path(from, to).map(|path| path.len() - 1)
}

#[test]
fn tree_routes_connect_every_pair_of_nodes() {
    let neighbours = graph();
    let forwards = [true; 6];
    let routes = tree_routes(
        &Graph {
            neighbours: &neighbours,
            forwards: &forwards,
        },
        0,
    );
    for from in 0..6 {
        for to in 0..6 {
            assert!(routes.path(from, to).is_some(), "{from} to {to}");
        }
    }
    assert_eq!(length(&routes, 3, 0), Some(3));
    assert_eq!(routes.nodes[3].hops_to_root, Some(3));
    assert_eq!(
        routes.nodes[3].default,
        Some(2),
        "the lowest index of equals"
    );
}

#[test]
fn a_flow_gets_its_shorter_path_both_ways() {
    let neighbours = graph();
    let forwards = [true; 6];
    let graph = Graph {
        neighbours: &neighbours,
        forwards: &forwards,
    };
    let mut routes = tree_routes(&graph, 0);
    assert_eq!(length(&routes, 3, 5), Some(4));
    shorten(&graph, &mut routes, 3, 5);
    assert_eq!(routes.path(3, 5), Some(vec![3, 5]));
    assert_eq!(routes.path(5, 3), Some(vec![5, 3]));
    assert_eq!(length(&routes, 0, 3), Some(3), "others keep their way");
}

#[test]
fn leaves_do_not_forward() {
    let neighbours = graph();
    let mut forwards = [true; 6];
    forwards[2] = false;
    let graph = Graph {
        neighbours: &neighbours,
        forwards: &forwards,
    };
    let routes = tree_routes(&graph, 0);
    assert_eq!(routes.path(3, 0), Some(vec![3, 5, 4, 1, 0]));
    assert_eq!(routes.path(2, 0), Some(vec![2, 1, 0]));
}

#[test]
fn equal_ways_share_the_load() {
    // All of 4 to 9 reach 0 through 1, 2 or 3.
    let mut neighbours = vec![vec![1, 2, 3]];
    neighbours.extend((1..4).map(|_| vec![0, 4, 5, 6, 7, 8, 9]));
    neighbours.extend((4..10).map(|_| vec![1, 2, 3]));
    let neighbours = alike(&neighbours);
    let forwards = [true; 10];
    let routes = tree_routes(
        &Graph {
            neighbours: &neighbours,
            forwards: &forwards,
        },
        0,
    );
    let behind = |via| {
        (4..10usize)
            .filter(|at| routes.nodes[*at].default == Some(via))
            .count()
    };
    for via in 1..4 {
        assert_eq!(behind(via), 2, "{via}");
    }
}

#[test]
fn two_good_links_are_better_than_a_poor_one() {
    // 0 - 1 - 2, and 0 - 2 over a link that costs the same or more.
    for (poor, hops) in [(1, 1), (4, 2), (5, 2)] {
        let mut neighbours = alike(&[vec![1, 2], vec![0, 2], vec![0, 1]]);
        for links in &mut neighbours {
            links.iter_mut().for_each(|link| link.cost = 2);
        }
        neighbours[0][1].cost = poor;
        neighbours[2][0].cost = poor;
        let forwards = [true; 3];
        let graph = Graph {
            neighbours: &neighbours,
            forwards: &forwards,
        };
        let routes = tree_routes(&graph, 0);
        assert_eq!(length(&routes, 2, 0), Some(hops), "{poor}");
        assert_eq!(routes.nodes[2].hops_to_root, Some(hops), "{poor}");
        assert_eq!(routes.nodes[2].cost_to_root, Some(poor.min(4)), "{poor}");
    }
}

#[test]
fn a_disconnected_node_has_no_path() {
    let neighbours = alike(&[vec![1], vec![0], vec![]]);
    let forwards = [true; 3];
    let routes = tree_routes(
        &Graph {
            neighbours: &neighbours,
            forwards: &forwards,
        },
        0,
    );
    assert_eq!(routes.path(0, 2), None);
    assert_eq!(routes.path(2, 0), None);
    assert_eq!(routes.nodes[2].hops_to_root, None);
}

#[test]
fn the_busiest_end_is_the_root() {
    assert_eq!(busiest_end(&[(0, 3), (1, 3), (2, 5)]), 3);
    assert_eq!(busiest_end(&[(0, 5), (1, 3)]), 3);
    assert_eq!(busiest_end(&[]), 0);
}
