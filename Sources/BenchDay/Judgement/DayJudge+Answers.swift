import Bluetooth
import BottleProtocol

/// What comes back, and what comes by itself.
extension DayJudge {
    var quiet: DayFinding {
        guard let step = day.steps.first(where: { $0.kind == .listen }) else { return untried(.quiet) }
        let said = step.values.filter { $0.characteristic == day.response }
        guard let first = said.first else {
            return DayFinding(.quiet, .confirmed, "Nothing came while nothing was asked.")
        }
        let words =
            """
            \(Self.counted(said.count, "notification")) came by themselves, the first \(Self.seconds(first.after)) \
            after the subscription.
            """
        return DayFinding(.quiet, .contradicted, words, said.map { line(step, $0) })
    }

    var soon: DayFinding {
        guard let step = day.steps.first(where: { $0.kind == .soon }) else { return untried(.soon) }
        guard let value = step.values.first(where: { $0.characteristic == day.response }) else {
            return DayFinding(
                .soon, .contradicted, "It was asked \(Self.counted(step.sendings, "time")), and did not answer.",
                [line(step)])
        }
        let words =
            step.sendings == 1
            ? "It answered at once, after \(Self.seconds(value.after))."
            : "It answered when it was asked \(step.sendings) times, after \(Self.seconds(value.after))."
        return DayFinding(.soon, .confirmed, words, [line(step), line(step, value)])
    }

    var snapshotLength: DayFinding {
        let answers = day.steps.filter { $0.kind == .snapshot }
        guard let step = answers.first else { return untried(.snapshotLength) }
        guard let (_, after, frame, _) = day.snapshots.first(where: { $0.step == step }) else {
            return DayFinding(.snapshotLength, .contradicted, "Nothing that came is a snapshot.", lines(step))
        }
        let usual = day.name.flatMap(BottleModel.init(advertisedName:)).map(\.snapshotLength)
        let isUsual =
            usual.map { $0 == frame.payload.count }
            ?? BottleModel.allCases.contains { $0.snapshotLength == frame.payload.count }
        let evidence = ["\(Self.time(step.at)) +\(Self.seconds(after)) \(HexText.of(frame.encoded))"]
        return DayFinding(
            .snapshotLength, isUsual ? .confirmed : .contradicted, "It has \(frame.payload.count) payload bytes.",
            evidence)
    }

    var snapshotEntries: DayFinding {
        guard let (step, after, frame, snapshot) = day.snapshots.first else {
            return untried(.snapshotEntries, "No snapshot came.")
        }
        let evidence = ["\(Self.time(step.at)) +\(Self.seconds(after)) \(HexText.of(frame.encoded))"]
        guard let entries = try? frame.entries() else {
            return DayFinding(.snapshotEntries, .contradicted, "It cannot be read as entries.", evidence)
        }
        let unknown = snapshot.unknownEntries.map { "\($0.type)" }
        let words =
            "It holds \(Self.counted(entries.count, "entry").replacingEntrys)"
            + (unknown.isEmpty ? "." : ", of unknown types \(unknown.joined(separator: ", ")).")
        return DayFinding(.snapshotEntries, .confirmed, words, evidence)
    }

    /// By how much the bottle's clock was ahead of ours, in the first snapshot of each connection that did not follow a
    /// setting of it.
    var clockRuns: DayFinding {
        let before =
            day.steps.firstIndex {
                if case .command(.clock) = $0.kind {
                    true
                } else if case .command(.settings) = $0.kind {
                    true
                } else {
                    false
                }
            } ?? day.steps.count
        let unset = Set(day.steps[..<before].map(\.connection))
        var leads: [Int: (lead: Int64, text: String)] = [:]
        for (step, after, frame, snapshot) in day.snapshots
        where unset.contains(step.connection) && leads[step.connection] == nil {
            // It is there, and is none: a bottle whose power went begins at zero.
            if let entry = (try? frame.entries())?.first(where: { $0.type == .clock }),
                BottleClock(entry.data.prefix(6))?.wallSeconds == nil
            {
                let words = "On connection \(step.connection) what it showed was no time: \(HexText.of(entry.data))."
                return DayFinding(
                    .clockRuns, .contradicted, words, ["\(Self.time(step.at)) \(HexText.of(frame.encoded))"])
            }
            guard let clock = snapshot.clock, let bottle = clock.wallSeconds, let host = step.at.wallSeconds else {
                continue
            }
            leads[step.connection] = (
                bottle - host - Int64(after.components.seconds),
                "connection \(step.connection), \(Self.time(step.at)): \(clock), \(HexText.of(frame.encoded))"
            )
        }
        let told = leads.sorted { $0.key < $1.key }.map(\.value)
        guard told.count >= 2, let least = told.map(\.lead).min(), let most = told.map(\.lead).max() else {
            return untried(.clockRuns, "Fewer than two connections showed its clock.")
        }
        let words =
            "Over \(Self.counted(told.count, "connection")) it was \(least) to \(most) s ahead of this machine's."
        return DayFinding(.clockRuns, most - least <= 5 ? .confirmed : .contradicted, words, told.map(\.text))
    }

    func bare(_ point: DayPoint, _ byte: UInt8) -> DayFinding {
        guard let step = day.steps.first(where: { $0.kind == .bare(byte) }), let response = day.response else {
            return untried(point)
        }
        guard step.refusal == nil else { return untried(point, "It could not be written: \(step.refusal ?? "")") }
        let log = DayLog(step, from: response)
        let isAnswered = log.announced != nil || !log.headers.isEmpty
        let isExpected = byte != 1 || day.profile == .draft
        let words =
            !log.headers.isEmpty
            ? "The log came: \(Self.counted(log.records.count, "record"))."
            : log.announced.map { $0 ? "RP 06 said 01, and no record came." : "RP 06 said 00: nothing is stored." }
                ?? (step.values.isEmpty ? "Nothing came." : "Something else came.")
        return DayFinding(point, isAnswered == isExpected ? .confirmed : .contradicted, words, lines(step))
    }

    var liveReport: DayFinding {
        let steps = day.steps.filter { if case .live(.sip) = $0.kind { true } else { false } }
        guard !steps.isEmpty else { return untried(.liveReport) }
        let reports = steps.flatMap { step in
            step.values.filter {
                $0.bytes.starts(with: FrameOperation.report.letters) && (try? Frame(decoding: $0.bytes)) != nil
            }.map { line(step, $0) }
        }
        guard !reports.isEmpty else {
            return untried(
                .liveReport,
                "Nothing was reported during \(Self.counted(steps.count, "sip")) on a connection that stood.")
        }
        return DayFinding(
            .liveReport, .confirmed,
            "\(Self.counted(reports.count, "report")) came during \(Self.counted(steps.count, "sip")).", reports)
    }

    /// A setting that is answered by its own entry.
    func taken(_ point: DayPoint, _ isIt: (HostCommand) -> Bool) -> DayFinding {
        guard let step = commandStep(isIt), let sent = step.sent else { return untried(point) }
        guard step.refusal == nil else { return untried(point, "It could not be written: \(step.refusal ?? "")") }
        guard let wanted = (try? Frame(decoding: sent).entries())?.first, let found = answer(in: step, wanted.type)
        else {
            return DayFinding(
                point, .contradicted, step.values.isEmpty ? "Nothing came." : "Something else came.", lines(step))
        }
        return DayFinding(
            point, found.entry == wanted ? .confirmed : .contradicted,
            "The answer's entry is \(found.entry == wanted ? "the same" : "another").", lines(step))
    }

    var clockTaken: DayFinding {
        guard let step = commandStep({ if case .clock = $0 { true } else { false } }),
            case .command(.clock(let wanted)) = step.kind
        else { return untried(.clockTaken) }
        guard step.refusal == nil else { return untried(.clockTaken, "It could not be written: \(step.refusal ?? "")") }
        guard let found = answer(in: step, .clock) else {
            return DayFinding(
                .clockTaken, .contradicted, step.values.isEmpty ? "Nothing came." : "Something else came.", lines(step))
        }
        let position = day.steps.firstIndex(of: step) ?? 0
        let later = day.snapshots.first { snapshot in
            day.steps.firstIndex(of: snapshot.step).map { $0 > position } == true && snapshot.snapshot.clock != nil
        }
        let shown = later?.snapshot.clock
        let isShown = shown.flatMap(\.wallSeconds).flatMap { shown in wanted.wallSeconds.map { abs(shown - $0) < 120 } }
        let words =
            "Its status is \(HexText.of(found.entry.data))"
            + (shown.map { "; the next snapshot says \($0) after \(wanted) was set." } ?? "; no snapshot followed.")
        guard found.entry.data == [0] else { return DayFinding(.clockTaken, .contradicted, words, lines(step)) }
        let evidence = lines(step) + (later.map { [HexText.of($0.frame.encoded)] } ?? [])
        return DayFinding(.clockTaken, isShown.map { $0 ? .confirmed : .contradicted } ?? .cannotTell, words, evidence)
    }

    var settingsTaken: DayFinding {
        guard let step = commandStep({ if case .settings = $0 { true } else { false } }) else {
            return untried(.settingsTaken)
        }
        guard step.refusal == nil else {
            return untried(.settingsTaken, "It could not be written: \(step.refusal ?? "")")
        }
        var values = step.answers(from: day.response).map(\.bytes)
        // A value may come twice, the second time when the next thing is asked: that is told of elsewhere, and says
        // nothing of this answer.
        if let before = day.steps.firstIndex(of: step).flatMap({ day.steps[..<$0].last })?.values.last?.bytes,
            values.first == before
        {
            values.removeFirst()
        }
        let frames = values.enumerated().filter { $0.offset == 0 || $0.element != values[$0.offset - 1] }
            .compactMap { try? Frame(decoding: $0.element) }.filter { $0.operation == .response }
        let types = frames.map { frame in ((try? frame.entries()) ?? []).map(\.type) }
        let isOne = frames.count == 1 && frames[0].payload.count == 15 && types[0] == [.goal, .clock, .reminder]
        let words =
            frames.isEmpty
            ? "Nothing came."
            : """
            \(Self.counted(frames.count, "frame")) came, of \
            \(frames.map { "\($0.payload.count)" }.joined(separator: ", ")) payload bytes.
            """
        return DayFinding(.settingsTaken, isOne ? .confirmed : .contradicted, words, lines(step))
    }

    var hangUp: DayFinding {
        guard let step = day.steps.first(where: { $0.kind == .hangUp }) else { return untried(.hangUp) }
        guard step.refusal == nil else { return untried(.hangUp, "It could not be written: \(step.refusal ?? "")") }
        let offered = day.services.lazy.flatMap(\.characteristics).first { $0.uuid == day.response }?.properties ?? []
        guard step.isCutOff || !day.hasRadio || !offered.isDisjoint(with: [.write, .writeWithoutResponse]) else {
            return untried(
                .hangUp, "The connection went on; the table offers no such write, so that the stack may have kept it.")
        }
        return DayFinding(
            .hangUp, step.isCutOff ? .confirmed : .contradicted,
            step.isCutOff ? "The connection ended." : "The connection went on.", lines(step))
    }

    private func commandStep(_ isIt: (HostCommand) -> Bool) -> DayStep? {
        day.steps.first { if case .command(let command) = $0.kind { isIt(command) } else { false } }
    }
}

extension String {
    /// English forms the plural of one noun here in its own way.
    fileprivate var replacingEntrys: String { hasSuffix("entrys") ? String(dropLast(2)) + "ies" : self }
}
