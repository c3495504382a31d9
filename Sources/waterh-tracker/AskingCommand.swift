import CommandSupport
import Foundation
import Store
import TrackerCore
import TrackerService

/// A verb that writes, and that the service does as well where the store is the service's alone.
protocol AskingCommand: StoreCommand {
    /// What the service is asked.
    /// - Parameter desk: one to look at the day with, for what depends on it.
    func request(_ desk: () throws -> Desk) throws -> (target: String, body: [JSONValue.Member])

    /// What is said about it.
    /// - Parameter desk: on the day as it is afterwards.
    func words(_ answer: Data, _ desk: Desk) throws -> [String]
}

extension AskingCommand {
    /// - Returns: whether there was a service to ask.
    func ask() throws -> Bool {
        let place = try DeskOpening(options).place
        guard let service = ServiceDay(place, for: access, options) else { return false }
        func looking() throws -> Desk { try Desk(options, for: .looking, isQuiet: true) }
        let request = try request(looking)
        let answer = try service.socket.post("/api/v1/\(request.target)", .object(request.body))
        if options.json {
            Console().line(String(decoding: answer, as: UTF8.self))
        } else {
            let desk = try looking()
            for line in try words(answer, desk) { desk.console.line(line) }
        }
        return true
    }

    /// A time as it is typed here: the service may have another zone.
    func moment(_ text: String?, _ desk: () throws -> Desk) throws -> [JSONValue.Member] {
        try text.map { [JSONValue.Member("at", .string(try desk().tracker.moment($0).description))] } ?? []
    }
}

/// What a service answers to a drink of the day.
struct LoggedDrink: Decodable {
    struct Drink: Decodable { var number: Int }
    var drink: Drink

    static func stored(_ answer: Data, _ desk: Desk) throws -> StoredDrink? {
        try desk.tracker.drinks(named: "d\(try JSONDecoder().decode(Self.self, from: answer).drink.number)").first
    }
}

/// What a service answers to an entry of a session.
struct LoggedEntry: Decodable {
    struct Entry: Decodable { var name: String }
    var id: String
    var logs: [Entry]

    /// The session, and the entry that was made last.
    static func stored(_ answer: Data, _ desk: Desk) throws -> (session: SessionReport, log: LogEntry)? {
        let told = try JSONDecoder().decode(Self.self, from: answer)
        let last = told.logs.max { Int($0.name.dropFirst()) ?? -1 < Int($1.name.dropFirst()) ?? -1 }
        let session = try desk.tracker.session(told.id)
        return session.view.logs.first { $0.shortName == last?.name }.map { (session, $0) }
    }
}
