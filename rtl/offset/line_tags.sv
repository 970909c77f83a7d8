// Tags of the line cache (OT-4, OT-6): the lines of a beat are looked up in the order of its threads, each once. A miss takes an entry and a
// place; where all entries are in use the beat goes on in the next cycle.
module line_tags #(
    parameter R = 4,
    parameter V = 4,
    parameter LINE = 16,
    parameter SETS = 16,
    parameter WAYS = 4,
    parameter S = (V + LINE - 2) / LINE + 1,  // lines that a thread touches, at most
    parameter PLACE = $clog2(SETS * WAYS) + 1
) (
    input  logic                clk,
    input  logic                reset,
    input  logic                option_fifo,
    input  logic                forgets,      // the lines are of another map
    input  logic                lookup,       // a beat is at the tags
    input  logic                begins,       // in its first cycle
    input  logic [R-1:0]        present,
    input  logic [R*48-1:0]     addresses,
    input  logic [7:0]          count,        // elements of each thread
    input  logic [15:0]         room,         // entries for misses
    output logic                done,         // all its lines have been looked up
    output logic [15:0]         hits,         // of the beat so far
    output logic [15:0]         misses,
    output logic [R*S*PLACE-1:0] places,      // in the cache, of each thread's lines
    output logic [R*S*8-1:0]    ages,         // misses of the beat when each was looked up, its own included
    output logic [7:0]          made,         // misses of this cycle
    output logic [R*S*48-1:0]   made_lines,   // their lines' numbers
    output logic [R*S*PLACE-1:0] made_places
);
  /* verilator no_inline_module */

  localparam LINES = SETS * WAYS;
  logic [LINES-1:0] known, next_known;
  logic [47:0] numbers[0:LINES-1], next_numbers[0:LINES-1];
  logic [31:0] stamps[0:LINES-1], next_stamps[0:LINES-1], stamp, next_stamp;

  // What a beat has looked up so far.
  logic [15:0] progress, next_progress, seen, next_seen, hits_before, misses_before;
  logic [R*S*48-1:0] seen_lines, next_seen_lines;
  logic [R*S*PLACE-1:0] seen_places, next_seen_places, places_before;
  logic [R*S*8-1:0] seen_ages, next_seen_ages, ages_before;
  logic [7:0] age;

  logic [47:0] line, last_line;
  logic [31:0] set, place, oldest;
  logic blocked, found, repeated;

  always_comb begin
    next_known = forgets ? '0 : known;
    next_numbers = numbers;
    next_stamps = stamps;
    next_stamp = stamp;
    next_progress = begins ? 16'd0 : progress;
    next_seen = begins ? 16'd0 : seen;
    next_seen_lines = seen_lines;
    next_seen_places = seen_places;
    next_seen_ages = seen_ages;
    hits = begins ? 16'd0 : hits_before;
    misses = begins ? 16'd0 : misses_before;
    places = places_before;
    ages = ages_before;
    age = 8'd0;
    made = 8'd0;
    made_lines = '0;
    made_places = '0;
    blocked = 1'b0;
    line = 48'd0;
    last_line = 48'd0;
    set = 32'd0;
    place = 32'd0;
    oldest = 32'd0;
    found = 1'b0;
    repeated = 1'b0;
    for (int i = 0; i < R * S; i = i + 1) begin
      line = addresses[(i/S)*48+:48] / LINE + (i % S);
      last_line = (addresses[(i/S)*48+:48] + count - 48'd1) / LINE;
      if (lookup && i >= next_progress && !blocked) begin
        if (present[i/S] && line <= last_line) begin
          repeated = 1'b0;
          for (int j = 0; j < R * S; j = j + 1)
            if (j < next_seen && next_seen_lines[j*48+:48] == line) begin
              repeated = 1'b1;
              place = {{32 - PLACE{1'b0}}, next_seen_places[j*PLACE+:PLACE]};
              age = next_seen_ages[j*8+:8];
            end
          if (!repeated) begin
            set = line % SETS;
            found = 1'b0;
            for (int j = 0; j < WAYS; j = j + 1)
              if (next_known[set*WAYS+j] && next_numbers[set*WAYS+j] == line) begin
                found = 1'b1;
                place = set * WAYS + j;
              end
            if (!found && made == room) blocked = 1'b1;
            else begin
              if (found) hits = hits + 16'd1;
              else begin
                misses = misses + 16'd1;
                place = set * WAYS;
                oldest = next_stamps[set*WAYS];
                for (int j = WAYS - 1; j >= 0; j = j - 1)
                  if (!next_known[set*WAYS+j]) begin
                    place = set * WAYS + j;
                    oldest = 32'd0;
                  end else if (next_stamps[set*WAYS+j] < oldest) begin
                    place = set * WAYS + j;
                    oldest = next_stamps[set*WAYS+j];
                  end
                made_lines[made*48+:48] = line;
                made_places[made*PLACE+:PLACE] = place[PLACE-1:0];
                made = made + 8'd1;
                next_known[place] = 1'b1;
                next_numbers[place] = line;
              end
              if (!found || !option_fifo) begin
                next_stamp = next_stamp + 32'd1;
                next_stamps[place] = next_stamp;
              end
              next_seen_lines[next_seen*48+:48] = line;
              next_seen_places[next_seen*PLACE+:PLACE] = place[PLACE-1:0];
              age = misses[7:0];
              next_seen_ages[next_seen*8+:8] = age;
              next_seen = next_seen + 16'd1;
            end
          end
          if (!blocked) begin
            places[i*PLACE+:PLACE] = place[PLACE-1:0];
            ages[i*8+:8] = age;
          end
        end
        if (!blocked) next_progress = i + 1;
      end
    end
    done = lookup && !blocked;
  end

  always_ff @(posedge clk) begin
    known <= next_known;
    numbers <= next_numbers;
    stamps <= next_stamps;
    stamp <= next_stamp;
    progress <= next_progress;
    seen <= next_seen;
    seen_lines <= next_seen_lines;
    seen_places <= next_seen_places;
    hits_before <= hits;
    misses_before <= misses;
    places_before <= places;
    seen_ages <= next_seen_ages;
    ages_before <= ages;
    if (reset) begin
      known <= '0;
      stamp <= 32'd0;
    end
  end
endmodule
