import FleetStore
import Synchronization

/// What this server did since it runs, in Prometheus' text format.
final class FleetCounts: Sendable {
    private let state = Mutex<(answers: [Int: Int], batches: Int, batch: FleetBatch)>(([:], 0, FleetBatch()))

    func answered(_ status: Int) { state.withLock { $0.answers[status, default: 0] += 1 } }

    func stored(_ batch: FleetBatch) {
        state.withLock { state in
            state.batches += 1
            state.batch.taken += batch.taken
            state.batch.known += batch.known
            state.batch.parked += batch.parked
        }
    }

    var text: String {
        let (answers, batches, batch) = state.withLock { $0 }
        var lines = ["# TYPE waterh_fleet_answers_total counter"]
        for (status, count) in answers.sorted(by: { $0.key < $1.key }) {
            lines.append("waterh_fleet_answers_total{status=\"\(status)\"} \(count)")
        }
        lines += [
            "# TYPE waterh_fleet_batches_total counter", "waterh_fleet_batches_total \(batches)",
            "# TYPE waterh_fleet_entries_total counter",
        ]
        for (name, count) in [("known", batch.known), ("parked", batch.parked), ("taken", batch.taken)] {
            lines.append("waterh_fleet_entries_total{became=\"\(name)\"} \(count)")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The same of all servers together, from the database.
    static func text(_ figures: FleetFigures) -> String {
        var lines = [
            "# TYPE waterh_fleet_people gauge", "waterh_fleet_people \(figures.people)",
            "# TYPE waterh_fleet_doubts gauge", "waterh_fleet_doubts \(figures.doubts)",
            "# TYPE waterh_fleet_stale_days gauge", "waterh_fleet_stale_days \(figures.staleDays)",
            "# TYPE waterh_fleet_gateway_seen_seconds gauge",
        ]
        // A gateway's name is of letters, digits, - and _.
        for gateway in figures.gateways {
            if let seen = gateway.seenSecondsAgo {
                lines.append("waterh_fleet_gateway_seen_seconds{gateway=\"\(gateway.name)\"} \(seen)")
            }
        }
        lines.append("# TYPE waterh_fleet_gateway_entries_total counter")
        for gateway in figures.gateways {
            lines.append("waterh_fleet_gateway_entries_total{gateway=\"\(gateway.name)\"} \(gateway.entries)")
        }
        lines.append("# TYPE waterh_fleet_gateway_parked_total counter")
        for gateway in figures.gateways {
            lines.append("waterh_fleet_gateway_parked_total{gateway=\"\(gateway.name)\"} \(gateway.poisoned)")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
