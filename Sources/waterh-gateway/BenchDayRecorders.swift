import Bluetooth
import Captures
import CommandSupport
import Foundation
import BlueZ

/// The recordings of a session: one per connection on links with PDUs, otherwise the HCI monitor in one file.
actor BenchDayRecorders {
    private let link: LinkOptions
    private let folder: BenchDayFolder
    private let air: AirRecorder?
    private var recorders: [String: LinkRecorder] = [:]
    private var trouble: String?

    init(_ link: LinkOptions, _ folder: BenchDayFolder) throws {
        (self.link, self.folder) = (link, folder)
        if case .bluez = try link.name { air = try AirRecorder(folder.capture("air")) } else { air = nil }
    }

    func open(_ chapter: String) throws -> any CentralLink {
        try mayGoOn()
        guard air == nil else { return try link.open() }
        let now = MonotonicClock.system.now()
        let epoch = Duration.milliseconds(Machine.now().milliseconds) - .nanoseconds(now.nanoseconds)
        let recorder = try LinkRecorder(path: folder.capture(chapter), peer: BluetoothAddress(0), epoch: epoch) {
            [weak self] in
            let line = $0
            Task { await self?.note(line) }
        }
        recorder.begin()
        recorders[chapter] = recorder
        return try link.open { recorder.observe($0) }
    }

    /// - Throws: if a recording is incomplete.
    func finish(_ chapter: String) throws {
        recorders.removeValue(forKey: chapter)?.finish()
        try mayGoOn()
    }

    func close() {
        for recorder in recorders.values { recorder.finish() }
        recorders = [:]
        air?.close()
    }

    private func note(_ line: String) { trouble = trouble ?? line }

    private func mayGoOn() throws {
        guard let trouble = trouble ?? air?.trouble else { return }
        throw CommandFailure(
            .failed, "The recording is incomplete: \(trouble).", advice: "Free some space, and begin a new session.")
    }
}
