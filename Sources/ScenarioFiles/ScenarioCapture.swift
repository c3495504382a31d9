import Bluetooth
import BottleProtocol
import CommandKit
import Emulation
import Foundation
import Replay
import Scenarios
import TrackerCore
import VirtualBottle

/// A scenario from a capture: the drinks that the bottle delivered, when it wrote them, and a poll for each connection,
/// cut off where that was cut off.
public struct ScenarioCapture {
    /// The scenario as far as the capture was read.
    public private(set) var scenario: Scenario
    /// What a person should know: records without a date, connections that are left out.
    public private(set) var remarks: [String]

    private static let connectionLimit = 100
    private static let days: Int64 = 390
    /// The central hung up itself (Core 5.4, Vol 1 Part F, 2: Connection Terminated by Local Host).
    private static let hungUp: UInt8 = 0x16

    /// - Throws: `CommandFailure`.
    public init(path: String) throws {
        let (fill, polls, left): (CaptureFill, [ScenarioStep.Poll], Int)
        do {
            fill = try CaptureFill(files: [path])
            (polls, left) = try Self.polls(path)
        } catch {
            throw CommandFailure(
                .badInput, "\(path) cannot be read as a capture: \(error).",
                advice: "Name a capture of a bottle's polls.")
        }
        remarks = fill.remarks + fill.leftOut
        if left > 0 { remarks.append("left out: \(left) connections beyond the first \(Self.connectionLimit)") }
        let dated = fill.records.compactMap { raw in
            (try? DrinkRecord(decoding: raw)).flatMap { record in
                Self.time(record).map { (time: $0, ml: record.amountMl) }
            }
        }
        let newest = dated.map(\.time.milliseconds).max() ?? 0
        let sips = Array(
            dated.filter { $0.time.milliseconds > newest - Self.days * 86_400_000 }.sorted { $0.time < $1.time }.suffix(
                Scenario.stepLimit - 2 * Self.connectionLimit))
        guard let first = sips.first, let last = sips.last else {
            throw CommandFailure(
                .badInput, "There is no drink with a date in \(path).",
                advice: "Name a capture in which a bottle delivers its log.")
        }
        if fill.records.count > sips.count {
            remarks.append(
                "left out: \(fill.records.count - sips.count) records without a date, or long before the last")
        }
        scenario = Scenario(title: "As in \(URL(fileURLWithPath: path).lastPathComponent.prefix(100))")
        scenario.story =
            """
            Made from a capture: \(sips.count) drinks as the bottle wrote them, and its \(polls.count) \
            connections, each cut off after as many packets where it was cut off. Whatever the link did, each \
            drink is there once.
            """
        scenario.bottle = VirtualBottle.BottleIdentity(model: fill.model ?? .boost)
        scenario.habits.ring = max(500, min(5000, sips.count))
        // Local days as if they were UTC's: the file may say better.
        let midnight = first.time.day * 86_400_000
        scenario.start = Instant(milliseconds: midnight + 946_684_800_000)
        scenario.steps = sips.map { ScenarioStep(.milliseconds($0.time.milliseconds - midnight), .sip(ml: $0.ml)) }
        let after = Duration.milliseconds(last.time.milliseconds - midnight) + .seconds(3600)
        for (number, poll) in polls.enumerated() {
            scenario.steps.append(ScenarioStep(after + .seconds(600 * number), .poll(poll)))
        }
        scenario.promise.sips = sips.count { $0.ml > 0 }
        scenario.promise.ml = sips.reduce(0) { $0 + $1.ml }
    }

    private static func time(_ record: DrinkRecord) -> LocalTime? {
        guard record.isDrink else { return nil }
        return LocalTime(
            BottleClock(
                yearByte: UInt8(record.yearByte), month: UInt8(record.month), day: UInt8(record.day),
                hour: UInt8(record.hour), minute: UInt8(record.minute),
                second: UInt8(record.second)))
    }

    /// One for each connection that carried ATT, and how many there are beyond the limit.
    private static func polls(_ path: String) throws -> ([ScenarioStep.Poll], left: Int) {
        var (polls, left) = ([ScenarioStep.Poll](), 0)
        var packets: [Int: Int] = [:]
        func end(_ connection: Int, cutOff: Bool) {
            guard let count = packets.removeValue(forKey: connection) else { return }
            guard polls.count < connectionLimit else { return left += 1 }
            polls.append(ScenarioStep.Poll(link: FaultPlan(cutOff ? [.init(.disconnect, .at(count + 1))] : [])))
        }
        var file = CaptureFile(path: path)
        do {
            try file.forEachEvent { event, _ in
                switch event {
                case .att(let observation):
                    if packets[observation.connection.id] != nil || packets.count < 1000 {
                        packets[observation.connection.id, default: 0] += 1
                    }
                case .disconnected(let connection, let reason):
                    end(connection.id, cutOff: reason.map { $0 != hungUp } ?? false)
                case .connected, .encrypted, .dropped, .advertised: break
                }
            }
        } catch  where file.facts.packets > 0 {
            // One that breaks off counts as far as it goes.
        }
        for connection in packets.keys.sorted() { end(connection, cutOff: false) }
        return (polls, left)
    }
}
