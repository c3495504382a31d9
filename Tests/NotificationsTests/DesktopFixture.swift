import DBus
import DBusSupport
import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService

@testable import Notifications

/// A private bus, a store in memory, and desktops that show its notifications.
final class DesktopFixture: Sendable {
    let bus: PrivateBus
    let folder: TemporaryFolder
    let store: TrackerStore
    let lines = Collected<String>()
    let troubles = Collected<String>()
    let presses = Collected<DesktopPress>()
    let appearances = Collected<Bool>()

    init() async throws {
        bus = try await PrivateBus()
        folder = try TemporaryFolder()
        store = try TrackerStore(inMemory: "Europe/Berlin")
    }

    /// The file of shown notifications.
    var file: String { folder.file("notices.json") }

    /// Long limits, so that other tests do not depend on the load of the machine.
    static let patient = DesktopNotifications.Limits(
        delivery: .seconds(300), firstResponse: .seconds(60), response: .seconds(60))

    /// - Parameter acts: whether a handler for buttons exists.
    func desktop(
        _ limits: DesktopNotifications.Limits = DesktopFixture.patient, acts: Bool = true, address: String? = nil,
        history: ShownNotifications? = nil
    ) async -> DesktopNotifications {
        let address = address ?? bus.address
        let desktop = DesktopNotifications(
            bus: { .address(address) }, history: history ?? ShownNotifications(file: file), limits: limits)
        var callbacks = DesktopNotifications.Callbacks()
        // Does not capture the fixture, because its bus ends with it.
        let (lines, troubles, appearances, presses) = (lines, troubles, appearances, presses)
        callbacks.log = { lines.add($0) }
        callbacks.warn = { troubles.add($0) }
        callbacks.serverAppeared = { appearances.add(true) }
        if acts { callbacks.actionInvoked = { presses.add($0) } }
        await desktop.connectCallbacks(callbacks)
        return desktop
    }

    /// The state at `12:00` of a day without drinks: a reminder is due.
    func tracker(_ wall: String = "12:00") throws -> TrackerAPI {
        let zone = try Zone("Europe/Berlin")
        return try TrackerAPI(
            store, now: try TimeText.parse("2026-06-15T\(wall)", now: nil, zone: zone),
            zone: ZoneChoice(named: zone.id, machine: .utc), source: "notification")
    }
}

/// Makes each notification of a test unique.
private let testNumbers = Atomic<Int>(0)

extension TrackerNotification {
    /// A notification as the core creates it, with a text of the test.
    static func test(
        _ kind: NotificationKind, _ title: String = "Title", _ body: String = "Body",
        urgency: NotificationUrgency = .normal, sound: Bool = true, isDiscreet: Bool = false
    ) throws -> TrackerNotification {
        let number = testNumbers.add(1, ordering: .relaxed).newValue
        return TrackerNotification(
            kind: kind, notificationId: "\(kind.id)/2026-06-15/\(number)", title: title, body: body, urgency: urgency,
            sound: sound, dayKey: try #require(LocalDay("2026-06-15")), acceptance: .goal, isDiscreet: isDiscreet)
    }
}
