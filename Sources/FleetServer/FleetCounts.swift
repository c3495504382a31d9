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
        for (status, count) in answers.sorted(by: { $0.key < $1.key }) { lines.append("waterh_fleet_answers_total{status=\"\(status)\"} \(count)") }
        lines += ["# TYPE waterh_fleet_batches_total counter", "waterh_fleet_batches_total \(batches)", "# TYPE waterh_fleet_entries_total counter"]
        for (name, count) in [("known", batch.known), ("parked", batch.parked), ("taken", batch.taken)] { lines.append("waterh_fleet_entries_total{became=\"\(name)\"} \(count)") }
        return lines.joined(separator: "\n") + "\n"
    }
}
