import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
import TrackerService

@main
struct Command: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waterh-tracker", abstract: "Track the day: drinks, reminders and Waterline sessions",
        discussion: """
            Most subcommands take --store FILE, --config FILE, --json, and --now INSTANT --zone ZONE to act at \
            another time.
            \(ExitStatus.help)
            """,
        version: ProgramVersion.text,
        subcommands: [
            Status.self, Log.self, Undo.self, Edit.self, Delete.self, ResetToday.self, HistoryCommand.self, Streak.self,
            DrinkCommand.self, Water.self, SessionCommand.self, PresetCommand.self, SettingsCommand.self, Setup.self,
            TokenCommand.self, Export.self, Import.self, Backup.self, Restore.self, Purge.self, Check.self, Agent.self,
            JournalCommand.self, WhyCommand.self, SnoozeCommand.self,
        ],
        defaultSubcommand: Status.self)

    static func main() async { await CommandRunner.main(Command.self, advice: Advice.about) }
}

/// A subcommand on the store.
protocol StoreCommand: AsyncParsableCommand {
    var options: StoreOptions { get }
    /// The access to the store. With `.reading`, the subcommand creates, migrates and changes nothing.
    var access: TrackerStore.Access { get }
    func run(_ context: CommandContext) async throws
}

extension StoreCommand {
    var access: TrackerStore.Access { .writing }

    func run() async throws {
        if let command = self as? any ServiceCommand, try command.executeByService() { return }
        try await run(CommandContext(options, for: access))
    }
}

/// Requests confirmation of an irreversible action.
enum Confirmation {
    static func ask(_ question: String, isConfirmed: Bool) throws {
        guard !isConfirmed else { return }
        guard TextOutput.isInteractive else {
            throw CommandFailure(.refused, "not confirmed: \(question)", advice: "Nothing was changed. Add --yes.")
        }
        TextOutput.standard.prompt("\(question) [y/N] ")
        guard readLine().flatMap(Bool.init(answer:)) == true else {
            throw Refusal("declined", "Nothing was changed.")
        }
    }
}

/// A subcommand that performs one request on the store, or sends it to the service if only that can open the store.
protocol ServiceCommand: StoreCommand {
    associatedtype Report: Encodable

    func perform(_ tracker: TrackerAPI) throws -> Report

    /// The request to the service. Its response is the JSON of `Report`.
    /// - Parameter context: opens the store, or a copy of the service's day, for reading.
    func request(_ context: () throws -> CommandContext) throws -> (target: String, body: [JSONValue.Member])

    /// The output for the JSON of a report.
    /// - Parameter context: the day after the change.
    func text(_ response: Data, _ context: CommandContext) throws -> [String]
}

extension ServiceCommand {
    func run(_ context: CommandContext) throws {
        try context.printReport(perform(context.tracker)) { try text(Data(TrackerAPI.json($0).utf8), context) }
    }

    /// Sends the request to the service. Returns whether a service was available.
    func executeByService() throws -> Bool {
        let location = try StoreOpener(options).location
        guard let service = ServiceConnection(location, for: access, options) else { return false }
        func reading() throws -> CommandContext { try CommandContext(options, for: .reading, isQuiet: true) }
        let request = try request(reading)
        let response = try service.socket.post("/api/v1/\(request.target)", .object(request.body))
        if options.json {
            TextOutput.standard.line(String(decoding: response, as: UTF8.self))
        } else {
            let context = try reading()
            for line in try text(response, context) { TextOutput.standard.line(line) }
        }
        return true
    }

    /// Parses a time with this command's time zone, which can differ from the service's.
    func moment(_ text: String?, _ context: () throws -> CommandContext) throws -> [JSONValue.Member] {
        try text.map { [JSONValue.Member("at", .string(try context().tracker.moment($0).description))] } ?? []
    }
}

struct LoggedDrink: Decodable {
    struct Drink: Decodable { var number: Int }
    var drink: Drink

    static func stored(_ response: Data, _ context: CommandContext) throws -> StoredDrink? {
        try context.store.drinks(named: "d\(try JSONDecoder().decode(Self.self, from: response).drink.number)").first
    }
}

struct LoggedEntry: Decodable {
    struct Entry: Decodable { var name: String }
    var id: String
    var logs: [Entry]

    static func stored(_ response: Data, _ context: CommandContext) throws -> (session: SessionView, log: LogEntry)? {
        let entry = try JSONDecoder().decode(Self.self, from: response)
        let last = entry.logs.max { Int($0.name.dropFirst()) ?? -1 < Int($1.name.dropFirst()) ?? -1 }
        let session = try context.tracker.session(entry.id)
        return session.logs.first { $0.shortName == last?.name }.map { (session, $0) }
    }
}

/// Advice of the command line by error code.
enum Advice {
    static func about(_ code: String) -> String? {
        switch code {
        case "noSuchDrink": "See the numbers with: waterh-tracker history --day today"
        case "noSuchEntry": "See them with: waterh-tracker session show"
        case "noSuchPreset": "See them with: waterh-tracker preset list"
        case "noActiveSession": "Start it with: waterh-tracker session start"
        case "noSuchSession": "See them with: waterh-tracker session list"
        case "noSuchToken": "See them with: waterh-tracker token list"
        case "noSuchRecord", "notARecord": "See them with: waterh-tracker journal list"
        case "noSuchSetting": "See the names with: waterh-tracker settings get"
        case "recordIsDated": "A drink is changed with: waterh-tracker edit"
        case "sessionEntry": "Use --estimate, --oz or --at."
        case "noSessionEntry": "Use --ml or --at."
        case "notATime": "Write 2026-06-15T14:00:00Z, 2026-06-15T14:00 in your zone, or 14:00."
        case "notADay": "Write today, yesterday or 2026-06-15."
        case "notAMonth": "Write 2026-06."
        case "clock": "Check the date (timedatectl), or pass --now."
        case "unanswered": "Skip the questions: waterh-tracker setup --yes"
        case "compressedFile": "Nothing was imported. Unpack it, or: gunzip -c FILE | waterh-tracker import -"
        case "databaseFile": "Nothing was imported. Restore a backup with: waterh-tracker restore FILE"
        case "badHealthFile": "Nothing was imported."
        case "syncTrouble": "Try again when the server is available, or unset sync.url."
        default: nil
        }
    }
}
