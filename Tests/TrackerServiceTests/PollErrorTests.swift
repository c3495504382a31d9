import Bluetooth
import Foundation
import Gateway
import GatewaySupport
import Store
import Testing
import TrackerCore
import TrackerService

/// Each row of tracker spec A8: the text, the hint, and that the next successful poll clears both.
@Suite struct PollErrorTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var error: String
        var hint: String?
        var spoil: @Sendable (inout ScriptedBottle) -> Void

        init(
            _ condition: String, _ error: String, hint: String? = nil,
            _ spoil: @escaping @Sendable (inout ScriptedBottle) -> Void
        ) {
            (testDescription, self.error, self.hint, self.spoil) = (condition, error, hint, spoil)
        }

        /// A failed connection with this reason.
        static func connecting(_ condition: String, _ error: String, hint: String? = nil, _ reason: LinkError) -> Row {
            Row(condition, error, hint: hint) { $0.connectFailures = Array(repeating: reason, count: 20) }
        }
    }

    static let rows = [
        Row("no bottle in the scan", "Bottle not found", hint: "Could not find bottle. Make sure it's nearby.") {
            $0.isSilent = true
        },
        .connecting(
            "adapter switched off", "Bluetooth is off", LinkError(.poweredOff, "The adapter hci0 is switched off.")),
        .connecting(
            "not permitted", "Bluetooth permission denied",
            LinkError(.permissionDenied, "The bus policy does not let us.")),
        .connecting("no adapter", "No Bluetooth adapter", LinkError(.noAdapter, "There is none.")),
        .connecting(
            "connection failed", "Failed to connect", hint: "abort-by-local",
            LinkError(.connectFailed, "le-connection-abort-by-local.", isTransient: true)),
        Row("a service is missing", "Unexpected bottle response") { $0.services.removeAll { $0.uuid == 0xFFE0 } },
        Row("no PT in the answers", "Unexpected bottle response") { bottle in
            bottle.records = []
            bottle.noise = [Array("OK+CONN".utf8), Array("ERROR".utf8)]
            bottle.lost = [2, 5, 8]
        },
        Row("the whole poll took too long", "Bottle did not answer") { $0.spacing = .seconds(40) },
    ]

    @Test(arguments: rows)
    func `an error is shown until a poll succeeds`(_ row: Row) throws {
        let fixture = try TrackerFixture()
        _ = try fixture.tracker("10:00").logDrink(.ml(250))
        let tracker = try fixture.tracker("12:00")
        func poll(_ bottle: ScriptedBottle) throws -> PollReport {
            var rig = EngineRig(options: PollOptions(zone: .utc), peer: bottle, start: tracker.now, hasRadio: true)
            let report = try rig.run()
            tracker.afterPoll(report)
            return report
        }
        var bottle = ScriptedBottle(records: [[0x1A, 6, 15, 9, 30, 0, 0, 0x10, 0, 0, 1, 0x61, 0]])
        bottle.advertisement.name = "WaterH-Bottle-1"
        bottle.advertisement.address = BluetoothAddress("A4:C1:38:01:02:03")
        var broken = bottle
        row.spoil(&broken)
        let report = try poll(broken)
        #expect(report.failure != nil && report.new == 0, "no drink is stored")
        let state = try tracker.state()
        #expect(
            state.connectionProblem?.description == row.error,
            "\(state.connectionProblem?.description ?? "none"): \(report.failure?.sentence ?? "")")
        if let hint = row.hint {
            #expect(state.connectionProblem?.hint?.contains(hint) == true, "\(state.connectionProblem?.hint ?? "none")")
        } else {
            #expect(state.connectionProblem?.hint == nil)
        }
        #expect(state.pace.dailyTotalMl == 250 && state.drinkCount == 1)

        #expect(try poll(bottle).failure == nil)
        let after = try tracker.state()
        #expect(after.connectionProblem == nil && after.pace.dailyTotalMl == 250)
    }
}
