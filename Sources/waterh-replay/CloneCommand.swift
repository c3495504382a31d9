import ArgumentParser
import Bluetooth
import CommandSupport
import Foundation
import Replay
import Emulator

struct CloneCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clone",
        abstract: "Create a device profile",
        discussion: """
            Copies one peripheral from captures: advertisement, GATT table, values, and conversations with their \
            delays. Prints the data that the captures lack, and lists it in the file. Emulate the profile with: \
            waterh-emulator run --gadget FILE
            """)

    @Argument(help: "Captures of any format (- for standard input)", completion: .file())
    var files: [String]

    @Option(
        help: ArgumentHelp(
            "Peripheral, if the captures have several: its address, or its number in the list",
            valueName: "address"))
    var device: String?

    @Option(
        help: ArgumentHelp(
            """
            Earliest time of the conversations (format as for 'waterh-replay att'); the attribute table comes from \
            the whole capture
            """,
            valueName: "time"))
    var from: TrafficFilter.Moment?

    @Option(help: ArgumentHelp("Latest time of the conversations (format as for --from)", valueName: "time"))
    var to: TrafficFilter.Moment?

    @Option(
        name: .shortAndLong, help: ArgumentHelp("File to write (- for standard output)", valueName: "file"),
        completion: .file())
    var output: String

    func validate() throws {
        if let device, Int(device) == nil, BluetoothAddress(device) == nil {
            throw ValidationError(
                "invalid --device: expected an address such as A4:C1:38:01:02:03, or a number in the printed list")
        }
        if case .absolute(let from)? = from, case .absolute(let to)? = to, from >= to {
            throw ValidationError("invalid --from: must be before --to")
        }
    }

    func run() throws {
        try CaptureRun.checkOutputIsNotInput(output, files)
        let run = try CaptureRun()
        let reader = ProfileReader()
        // --from and --to can be relative to the start of each capture.
        var filter = TrafficFilter()
        (filter.from, filter.to) = (from, to)
        var recording = RecordingState(), selector = TrafficSelector(filter)
        for part in try run.parts(files) {
            try run.read(part) { file in
                do {
                    let error = try file.readEvents(continuing: &recording) {
                        reader.beginFile()
                        selector = TrafficSelector(filter)
                    } onPacket: { packet in
                        selector.start(at: packet.time)
                    } _: { event, bytes in
                        if selector.passes(event, bytes) { try reader.receive(event, bytes) }
                    }
                    if let error { throw error }
                } catch let error as ProfileReaderError {
                    throw CommandFailure(.badInput, "\(error)")
                }
            }
        }
        let found = try selectedPeripheral(among: reader.finish())
        let file = try OutputFile(output, mode: CaptureRun.filePermissions)
        let bytes = [UInt8](try ProfileFile.encode(found.profile))
        try file.write(bytes)
        try file.commit()
        let lines = Self.resultLines(found, output)
        if output == "-" {
            for line in lines { run.note(line) }
        } else {
            run.out.put(text: lines.map { $0 + "\n" }.joined())
        }
        try run.finish()
    }

    /// The peripheral of `--device`, or else the only one with responses, or else the only one.
    private func selectedPeripheral(among all: [ObservedPeripheral]) throws -> ObservedPeripheral {
        let responding = all.filter(\.hasResponded)
        // Number the peripherals with responses first.
        let listed = responding + all.filter { !$0.hasResponded }
        if let device {
            if let number = Int(device), listed.indices.contains(number - 1) { return listed[number - 1] }
            if let address = BluetoothAddress(device), let found = listed.first(where: { $0.address == address }) {
                return found
            }
            throw CommandFailure(
                .noLink, "no device \(device) in \(Self.names(files))",
                advice: listed.isEmpty ? nil : "Devices: \(Self.list(listed)).")
        }
        if let only = responding.first, responding.count == 1 { return only }
        if let only = listed.first, listed.count == 1 { return only }
        guard !listed.isEmpty else {
            throw CommandFailure(
                .badInput, "no Bluetooth LE peripheral in \(Self.names(files))",
                advice: "List the contents: waterh-replay info FILE")
        }
        throw CommandFailure(
            .wrongUse,
            """
            \(Self.names(files)) \(files.count == 1 ? "has" : "have") \
            \(counted(listed.count, "peripheral"))\(responding.isEmpty ? ", none of which sent a response" : "")
            """,
            advice: "Select one with --device: \(Self.list(listed)).")
    }

    private static func names(_ files: [String]) -> String {
        files.map(CaptureRun.name).joined(separator: ", ")
    }

    private static let maximumListed = 30

    /// Lists the peripherals with responses, and counts the others, because many devices can be in range.
    private static func list(_ all: [ObservedPeripheral]) -> String {
        let responding = all.prefix(while: \.hasResponded).count
        let listed =
            all.count > maximumListed && responding > 0 ? min(responding, maximumListed) : min(all.count, maximumListed)
        var lines = all.prefix(listed).enumerated().map { number, one in
            let name = one.profile.name.map { " \($0)" } ?? ""
            let traffic =
                one.hasResponded
                ? "\(counted(one.connections, "connection")), \(counted(one.pduCount, "ATT PDU")) from it"
                : one.profile.gaps.contains { $0.contains("encrypted") } ? "encrypted" : "no response"
            return "\(number + 1) is \(one.label)\(name) (\(traffic))"
        }
        if all.count > listed {
            lines.append("and \(all.count - listed) \(listed == responding ? "without a response" : "more")")
        }
        return lines.joined(separator: "; ")
    }

    /// The lines about the result, then one line per gap.
    private static func resultLines(_ found: ObservedPeripheral, _ output: String) -> [String] {
        let cloned = found.profile
        let discovered = cloned.characteristics.filter { $0.source == .discovered }.count
        let values = cloned.conversations.reduce(0) { $0 + $1.exchanges.reduce(0) { $0 + ($1.values?.count ?? 0) } }
        let name = cloned.name.map { " \($0)" } ?? ""
        let result =
            """
            \(found.label)\(name) to \(CaptureRun.outputName(output)): \
            \(counted(cloned.services.count, "service")), \
            \(counted(cloned.characteristics.count, "characteristic")) (\(discovered) discovered); \
            \(counted(cloned.exchangeCount, "request")) and \(counted(values, "value")) in \
            \(counted(cloned.conversations.count, "conversation"))
            """
        return [result] + cloned.gaps.map { "  gap: \($0)" }
    }
}
