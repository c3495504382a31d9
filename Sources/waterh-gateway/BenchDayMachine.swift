import Bluetooth
import CommandSupport
import Foundation

/// Checks whether this machine is ready for a hardware session.
enum BenchDayMachine {
    /// Reports unusual things.
    /// - Throws: `CommandFailure` if the session cannot work.
    static func check(_ link: LinkOptions) async throws {
        let name = try link.name
        guard try link.hasRadio else { return }
        let findings = BluetoothDiagnosis(await BluetoothFacts.gather(), link: name) { _, _ in false }.findings
        for finding in findings where finding.status != .good {
            Diagnostics.line("\(finding.check): \(finding.found)\(finding.advice.map { ". \($0)" } ?? "")")
        }
        if let bad = findings.first(where: { $0.status == .bad }) {
            throw CommandFailure(bad.exitReason.status, sentence("\(bad.check): \(bad.found)"), advice: bad.advice)
        }
        let usual = [Paths.store, Paths.serviceStore]
        if let busy = usual.first(where: { ServiceSocket(path: ServiceSocket.path(forStore: $0)).isAnswering }) {
            throw CommandFailure(
                .refused, "a running service would read and acknowledge the log (store \(busy))",
                advice:
                    "Stop it first: systemctl stop waterh-gateway, or systemctl --user stop waterh-gateway-user")
        }
    }
}
