import CommandSupport
import Logging
import PostgreSQL
import Store
import TrackerCore
import TrackerService

extension Configuration {
    /// The database of the table `[postgres]`; `nil` without the table.
    func postgresPlan() throws -> PostgresPlan? {
        do { return try PostgresPlan(postgres) } catch let problem as any Problem {
            throw CommandFailure(
                .badInput, "invalid [postgres] in the configuration: \(problem.sentence)",
                advice: "Fix the value, then restart the service.")
        }
    }
}

extension ServicePlan {
    /// The publisher of the database; `nil` if the configuration has none.
    func postgresPublisher(_ store: TrackerStore, _ watch: StoreWatch?, log: Logger) -> PostgresPublisher? {
        guard let database else {
            PostgresPublisher.turnOff(store)
            return nil
        }
        return PostgresPublisher(
            .init(
                plan: database, tracker: { try tracker(of: store, source: "postgres") },
                version: ProgramVersion.text, watch: watch,
                log: { event in
                    switch event {
                    case .complete(let database): log.notice("PostgreSQL: all drinks are in \(database).")
                    case .failed(let reason):
                        log.warning("PostgreSQL: \(asSentence(reason)) It is retried automatically.")
                    case .resumed: log.notice("PostgreSQL continues.")
                    }
                }))
    }
}

extension DoctorChecks {
    /// Checks the connection to the database, its schema and the role. Writes nothing.
    static func postgres(_ file: Configuration) async -> [Finding] {
        do {
            guard let plan = try file.postgresPlan() else { return [] }
            try await PostgresPublisher.check(plan)
            return [Finding("postgres", .good, "\(plan): accepts the connection")]
        } catch let failure as PostgresFailure {
            return [Finding("postgres", .bad, failure.cause, advice: failure.advice)]
        } catch {
            let failure = error as? CommandFailure
            return [Finding("postgres", .bad, failure?.sentence ?? "\(error)", advice: failure?.advice)]
        }
    }
}
