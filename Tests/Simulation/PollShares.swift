import Bluetooth
import Gateway

/// For each fault of the link, the number of polls that acknowledge a record or find the log empty.
package struct PollShares: Sendable, CustomStringConvertible {
    /// By the link's only fault; `none` and `several` for other plans.
    private var plans: [String: (polls: Int, acknowledging: Int)] = [:]
    /// Reasons of polls on a link without faults that acknowledged nothing.
    private var reasons: [String: Int] = [:]
    /// Polls without faults at the end of a scenario until the bottle is empty.
    package var settlingPolls = 0

    mutating func add(_ plan: FaultPlan, _ report: PollReport, note: String?) {
        let faults = Set(plan.faults.map(\.kind.rawValue) + (plan.mtu == nil ? [] : ["mtu"]))
        let name = faults.count > 1 ? "several" : faults.first ?? "none"
        let acknowledges = report.acknowledged > 0 || report.storedRecords == 0
        plans[name, default: (0, 0)].polls += 1
        plans[name]?.acknowledging += acknowledges ? 1 : 0
        guard faults.isEmpty, !acknowledges else { return }
        let reason = report.failure.map { "\($0.kind.text): \($0.sentence)" } ?? note ?? "no reason given"
        reasons[String(reason.filter { !$0.isNumber }), default: 0] += 1
    }

    mutating func add(_ other: PollShares) {
        settlingPolls += other.settlingPolls
        reasons.merge(other.reasons, uniquingKeysWith: +)
        plans.merge(other.plans) { ($0.polls + $1.polls, $0.acknowledging + $1.acknowledging) }
    }

    package var description: String {
        let lines = plans.sorted { $0.key < $1.key }.map { name, plan in
            "  \(name): \(plan.acknowledging) of \(plan.polls) (\(plan.acknowledging * 100 / plan.polls) %)"
        }
        let misses = reasons.sorted { $0.value > $1.value }.prefix(12).map { "  \($0.value) times: \($0.key)" }
        return """
            polls that acknowledge at once, by the fault of their link:
            \(lines.joined(separator: "\n"))
            reasons of the others on a link without faults:
            \(misses.joined(separator: "\n"))
            polls without faults until all bottles are empty: \(settlingPolls)
            """
    }
}
