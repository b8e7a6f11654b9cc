"""First names that are common in Germany, Austria and Switzerland, written down as facts.

The list was put together for this project from general knowledge of names that are given in the three
countries, those of larger immigrant groups included; no published list was copied. Names that are German
words or places as well (Rose, Heide, August, Mai, Linde, Paris, Mark, Ernst) are left out: as evidence they
would do more harm than good.
"""

FIRST_NAMES = frozenset(
    """
    Aaron Abdul Abdullah Abdelkader Achim Ada Adalbert Adam Adela Adele Adelheid Adem Adnan Adolf Adrian
    Adriana Adriano Agata Agathe Agnes Agnieszka Ahmad Ahmed Ahmet Aileen Ajla Akif Alan Albert Alberto
    Albin Albrecht Aldo Alejandro Aleksander Aleksandar Aleksandra Aleksej Aleksey Alena Alessandra
    Alessandro Alessia Alex Alexander Alexandra Alexej Alexia Alexis Alfons Alfonso Alfred Ali Alice
    Alicia Alina Aline Alisa Alise Alma Alois Aloisia Alwin Alwine Amalia Amalie Amanda Amar Amela
    Amelie Amin Amina Amir Amira Ana Anastasia Anatol Anatoli Andi Andrea Andreas Andrée Andrei Andrej
    Andrés Andrew Andrzej Andy Anette Angela Angelika Angelina Angelique Angelo Anika Anita Anja Anka
    Anke Ann Anna Annabell Annabelle Annalena Anne Annegret Anneke Annelie Annelies Anneliese Annelore
    Annemarie Annerose Annett Annette Annika Annkathrin Ansgar Anton Antonella Antonia Antonietta
    Antonin Antonio Antonius Apostolos Ari Ariane Arif Armin Arnd Arndt Arne Arnim Arno Arnold Arthur
    Artjom Artur Arzu Asim Aslan Aslı Astrid Athanasios Attila Aurelia Axel Aya Ayhan Aykut Ayla Aylin
    Aynur Ayse Aysel Aysun Ayten Ayşe Ayşegül Aziz Bahar Balthasar Barbara Bärbel Baris Barış Basti
    Bastian Beata Beate Beatrice Beatrix Bekir Bela Belinda Benedikt Benedikta Benita Benjamin Benno
    Bente Berit Berkan Bernadette Bernard Bernd Berndt Bernhard Bert Berta Bertha Berthold Bertram
    Betina Bettina Bianca Bianka Bilal Birger Birgit Birgitt Birgitta Birk Birte Björn Blanka Bodo
    Bogdan Boguslaw Boris Branko Brigitta Brigitte Britt Britta Brunhild Brunhilde Bruno Bülent Burak
    Burcu Burghard Burkhard Burkhardt Büşra Can Canan Caren Carina Carl Carla Carlo Carlos Carlotta
    Carmen Carola Carolin Carolina Caroline Carsten Caspar Cathrin Catrin Cecilia Cedric Celina Celine
    Cem Cemal Cemil Cengiz Chantal Charlotte Chiara Chris Christa Christel Christian Christiane Christin
    Christina Christine Christof Christoph Christopher Cilli Cindy Claas Claire Clara Clarissa Claude
    Claudia Claudio Claudius Claus Clemens Conny Conrad Constantin Constanze Cora Cordula Corina Corinna
    Cornelia Cornelius Cosima Cristian Cristina Curt Cynthia Cyrill Dagmar Dajana Dalia Damaris Damian
    Damir Dana Daniel Daniela Daniele Danielle Danilo Danuta Daria Dario Dariusz Darko David Davide
    Davud Dean Deborah Deike Delia Denis Denise Deniz Dennis Derya Desiree Desirée Detlef Detlev Diana
    Diane Diego Dieter Dieterich Diether Diethelm Dietlinde Dietmar Dietrich Dilan Dilara Dilek Dimitri
    Dimitrios Dina Dirk Dita Dominic Dominik Dominika Dominique Donald Donata Dora Doreen Doris Dorit
    Dorothea Dorothee Dorthe Dragan Dragana Duygu Dzenana Dušan Ebru Eberhard Eckart Eckehard Eckhard
    Eckhardt Eckhart Edda Ede Edeltraud Edeltraut Edgar Edith Edmund Eduard Edward Edwin Egbert Egon
    Ehrenfried Eike Eileen Ekaterina Ekkehard Ela Elena Eleni Eleonora Eleonore Elfi Elfriede Elias Elif
    Elisa Elisabeth Elise Elizabeth Elka Elke Ella Ellen Elli Elma Elmar Elsa Elsbeth Else Elvira Elvis
    Emanuel Emel Emelie Emil Emilia Emilie Emin Emine Emir Emma Emmanuel Emmi Emre Ender Engelbert Enno
    Enrico Enver Enzo Ercan Erdal Erdem Erdoğan Eren Erhan Erhard Eric Erich Erik Erika Erkan Erna
    Ernestine Erol Ersin Erwin Esin Esma Esra Esther Etta Eugen Eugenia Eugenie Eva Evamaria Evangelos
    Evelin Eveline Evelyn Evelyne Evi Ewa Ewald Ewelina Fabian Fabienne Fabio Fabiola Fabrice Fahri
    Falko Faruk Fatih Fatima Fatma Fedor Felicia Felicitas Felix Felizitas Ferdi Ferdinand Ferhat Feride
    Fernando Ferry Fikret Filip Filippo Fiona Florian Florin Folkert Francesca Francesco Francisca
    Francisco Franco Franjo Frank-Walter Franka Frano Franz Franziska Franziskus Frauke Frederic
    Frederik Frederike Fred Freddy Freya Frida Frieda Friedbert Friedel Friedemann Friederike Friedhelm
    Friedhold Friedolin Friedrich Frieder Fritz Fynn Gabi Gabor Gabriel Gabriela Gabriele Gabriella Gaby
    Gebhard Geert Genoveva Georg George Georgios Geraldine Gerald Gerard Gerd Gerda Gereon Gerhard
    Gerhild Gerlinde Gernot Gero Gerold Gerrit Gert Gerta Gertraud Gertraude Gertrud Gertrude Gesa
    Gesche Gesine Gianluca Gianni Gilbert Gina Giorgio Giovanni Giovanna Gisa Gisbert Gisela Giulia
    Giuliana Giulio Giuseppe Gloria Goran Gordana Gottfried Gotthard Gotthilf Gottlieb Götz Grazyna
    Gregor Greta Gretchen Grete Gretel Grit Grzegorz Gudrun Guido Gülay Gülcan Gülsen Gunda Gundel
    Gundula Gunnar Gunter Gunther Guntram Günter Günther Gustav Habib Hajo Hakan Halil Halina Halime
    Hamid Hamza Hanife Hanna Hannah Hannelore Hannes Hanni Hanno Hans Hansi Hansjörg Hansjürgen
    Hanspeter Hanna-Lena Harald Harri Harriet Harry Hartmut Hartwig Harun Hasan Hassan Hatice Hauke
    Havva Hedda Hedwig Heidemarie Heiderose Heidi Heidrun Heike Heiko Heiner Heinfried Heinrich Heinz
    Heiner Helen Helena Helene Helga Hella Helle Hellmut Hellmuth Helma Helmar Helmut Helmuth Hendrik
    Henning Henri Henriette Henrik Henry Herbert Hergen Heribert Herlinde Hermann Hermine Herta Hertha
    Herwig Hilal Hilde Hildegard Hildegund Hilke Hilmar Hinnerk Hinrich Hiltrud Holger Horst Hubert
    Hubertus Hugo Hülya Huri Hussein Hüseyin Ibrahim İbrahim Ida Igor Ildiko Ilija Ilka Ilker İlker
    Ilknur Ilona Ilse Iman Imke Immanuel Ina Ines Inga Inge Ingeborg Ingelore Ingo Ingolf Ingrid Inka
    Ioannis Irena Irene Irina Irmgard Irmhild Irmtraud Irmtraut Isa Isabel Isabell Isabella Isabelle
    Ismail İsmail Ismet Isolde Ivan Ivana Ivica Ivo Ivonne Iwan Iwona Izabela Jacek Jack Jacqueline
    Jadwiga Jakob Jacob James Jan Jana Janet Janett Janina Janine Janis Janka Janna Jannes Jannik Jannis
    Janosch Janusz Jaqueline Jaroslaw Jasmin Jasmina Jason Jasper Javier Jeanette Jeannette Jeannine
    Jelena Jella Jennifer Jenny Jens Jeremias Jeremy Jerome Jerzy Jessica Jessika Joachim Joana Joanna
    Jochen Joel Johann Johanna Johannes John Jolanta Jonah Jonas Jonathan Jonna Jörg Jorge Jörn Jos
    Josef Josefa Josefina Josefine Joseph Josephine Josua Jovan Jovana Juan Judith Jule Julia Julian
    Juliana Juliane Julie Julien Juliette Julika Julio Julius Jürgen Jürg Justin Justus Jutta Jyri Kadir
    Kai-Uwe Kamil Kamila Karen Karim Karin Karina Karl Karla Karlheinz Karoline Karola Karolin Karolina
    Karsten Kasimir Kaspar Katarina Katarzyna Kate Katharina Katharine Käthe Kathi Kathleen Kathrin
    Kathy Katja Katrin Kay-Uwe Kemal Kenan Kerem Kerim Kerstin Kevin Khaled Khalid Kilian Kim Kira
    Kirsten Kirstin Kjell Klara Klaudia Klaus Klemens Knud Knut Konrad Konstantin Konstantinos Konstanze
    Kordula Korbinian Korinna Kornelia Kristian Kristin Kristina Kristof Krystyna Krzysztof Kübra Kuno
    Kunigunde Kurt Ladislaus Laila Lambert Lamine Lana Lara Larissa Lars Lasse Laura Laurens Laurenz
    Laurin Lea Leah Leander Leif Leila Lena Lennard Lennart Lennox Leo Leonard Leonardo Leonhard Leonie
    Leonora Leonore Leopold Leszek Levent Levi Levin Leyla Lia Liam Liana Lidia Liesbeth Lieselotte
    Liesel Liliane Lilian Lili Lilli Lilly Lina Linda Linus Lisa Lisbeth Liselotte Lisette Livia
    Ljiljana Ljubica Lola Lore Loredana Lorena Lorenz Lorenzo Loreen Lothar Lotta Lotte Louis Louisa
    Louise Luca Lucas Lucia Lucian Luciano Lucie Lucien Lucy Ludger Ludmila Ludmilla Ludolf Ludwig Luigi
    Luis Luisa Luise Luitgard Luka Lukas Łukasz Lutz Luzia Lydia Lynn Madeleine Madlen Magda Magdalena
    Magdalene Magnus Mahmoud Mahmut Maik Maike Maja Makbule Malgorzata Małgorzata Malik Malin Malina
    Malte Mandy Manfred Manja Manon Manuel Manuela Mara Marc Marcel Marcella Marcello Marcin Marco
    Marcos Marcus Marek Maren Margareta Margarete Margaretha Margarethe Margarita Margit Margitta Margot
    Margret Margrit Mari Maria Mariam Marian Mariana Marianne Marie Marieke Mariela Marielle Marietta
    Marija Marika Marina Mario Marion Maris Marisa Marit Marita Marius Mariusz Marko Markus Marleen
    Marlen Marlena Marlene Marlies Marlis Marlon Marta Marten Martha Martin Martina Marvin Mascha
    Massimo Matej Mateo Mateusz Mathew Mathias Mathilda Mathilde Mathis Matilda Matteo Matthäus Matthew
    Matthias Mattis Maurice Mauricio Mauro Max Maxi Maxim Maxima Maximilian Maximiliane Maya Mechthild
    Mechtild Meike Meinhard Meinolf Meinrad Melanie Melek Melina Melinda Melis Meltem Mehdi Mehmed
    Mehmet Merle Mert Merve Meryem Mesut Metin Mia Michael Michaela Michail Michal Michał Michel Michele
    Michelle Miguel Mika Mike Mikail Mikael Mila Milan Milena Milica Milos Miloš Mina Mirco Mirela
    Miriam Mirijam Mirjam Mirjana Mirka Mirko Miro Miroslav Miroslaw Mirza Mohamad Mohamed Mohammad
    Mohammed Moni Monica Monika Monique Moritz Muhammad Muhammed Muharrem Murat Musa Mustafa Nabil Nada
    Nadia Nadine Nadja Nadjeschda Nancy Naomi Natalia Natalie Natalija Natascha Nathalie Nathan Nazan
    Nazli Necati Nele Nelli Nelly Nermin Nico Nicola Nicolai Nicolas Nicole Nicoletta Niels Nihat Niklas
    Niko Nikola Nikolai Nikolaj Nikolaos Nikolas Nikolaus Nikolay Nils Nina Nino Nisa Noah Noel Noemi
    Nora Norbert Norma Nour Nuran Nuray Nurcan Nurhan Nuri Oda Odette Oğuz Oguz Okan Oktay Olaf Ole Oleg
    Olena Olga Oliver Olivia Olivier Omar Ömer Onur Orhan Oscar Oskar Osman Ortrud Ortwin Oswald Oswin
    Ota Otmar Ottfried Otthein Ottilie Otto Ottokar Özcan Özgür Özkan Özlem Pablo Paola Paolo Pascal
    Patric Patricia Patrick Patrik Patrizia Paul Paula Paulina Pauline Paulus Paweł Pawel Pedro Peggy
    Perihan Petar Peter Petr Petra Petros Philine Philip Philipp Philippa Philippe Phillip Pia Pierre
    Pietro Pilar Piotr Polina Predrag Priska Przemyslaw Quentin Quirin Rachel Rafael Raffael Rafał Rahel
    Raik Raimund Rainer Ralf Ralph Ramazan Ramona Ramon Randolf Raoul Raphael Raphaela Rasmus Raul Ravi
    Rebecca Rebekka Recep Regina Regine Regula Reiko Reimund Reinald Reiner Reinhard Reinhardt Reinhart
    Reinhild Reinhilde Reinhold Rena Renan Renata Renate René Renée Reto Ria Ricarda Riccardo Richard
    Rico Rieke Rikarda Rike Rita Robert Roberta Roberto Robin Rocco Roderich Rodolfo Roger Roland Rolf
    Roman Romana Romina Romy Ronald Ronja Ronny Rosalia Rosalie Rosalinde Rosel Roselinde Rosemarie Rosi
    Rosina Rosita Roswitha Roxana Ruben Rudi Rüdiger Rudolf Rudolph Rukiye Rupert Ruprecht Ruslan Ruth
    Sabina Sabine Sabrina Sadık Safiye Sahin Said Salih Salim Salma Salome Salvatore Sam Samanta
    Samantha Sami Samir Samira Samuel Sandra Sandro Sanja Santiago Sara Sarah Sarina Sascha Saskia Savas
    Saverio Sebastian Seda Sedat Selim Selin Selina Selma Semra Senta Serap Serdar Serena Serge Sergej
    Sergio Serhat Serkan Sevda Sevgi Sevim Sezen Shirin Sibel Sibylle Siegbert Siegfried Sieghard
    Sieglinde Siegmar Siegmund Siegrid Siegrun Sigfried Sigmar Sigmund Sigrid Sigrun Sigurd Silas Silja
    Silke Silvana Silvia Silvio Simon Simona Simone Sina Sinan Sinem Sissi Sixtus Slavica Slobodan
    Slawomir Sladjana Sofia Sofie Solveig Sonja Sönke Sophia Sophie Sophie-Charlotte Søren Sören Srdjan
    Stanislaus Stanislav Stanislaw Stefan Stefani Stefania Stefanie Stefano Steffen Steffi Stella
    Stephan Stephanie Stephen Steve Steven Stipe Sulejman Süleyman Sunniva Susan Susanna Susanne Susi
    Svea Sven Svenja Svetlana Swantje Swen Swetlana Sybille Sylke Sylvester Sylvia Sylvie Tabea Tadeusz
    Tahir Tamara Tanja Tania Tara Tarek Tarik Tatiana Tatjana Tayfun Teresa Tess Tessa Thaddäus Thea
    Theda Thekla Theo Theodor Theodora Theophil Theresa Therese Theresia Thilo Thomas Thommy Thoralf
    Thorben Thore Thorsten Thorwald Tibor Tiffany Till Tilman Tilmann Tilo Tim Timm Timo Timon Timothy
    Timur Tina Tine Tino Titus Tizian Tjark Tobias Tolga Tom Tomasz Tomas Tomislav Tommy Toni Torben
    Tordis Torsten Traudel Traute Tristan Trude Tuğba Tugba Tülay Tuncay Turgut Turhan Tuba Udo Ufuk
    Ugur Uğur Ulf Uli Ulla Ulrich Ulrike Ümit Umut Ünal Urs Ursel Ursula Uschi Uta Ute Uwe Valentin
    Valentina Valentino Valeria Valerie Valerio Vanessa Vasilij Vasilios Vera Verena Veronica Veronika
    Vesna Veysel Vicky Victor Victoria Viktor Viktoria Vincent Vincenzo Vinzenz Violeta Violetta Vitali
    Vito Vittoria Vivian Viviane Vivien Vladimir Vlado Volker Volkhard Volkmar Vroni Waldemar Walburga
    Waldtraud Walter Walther Waltraud Waltraut Wanda Wassili Wencke Wendelin Wenke Wenzel Wera Werner
    Wibke Wiebke Wieland Wieslaw Wigbert Wilfried Wilhelm Wilhelmine Willi Willibald Willy Wilma
    Winfried Winnie Wiltrud Witold Wladimir Wojciech Wolf-Dieter Wolfdietrich Wolfgang Wolfram Wolfhard
    Wulf Xaver Xavier Xenia Yannick Yannik Yannis Yara Yasar Yasemin Yasin Yasmin Yasmina Yavuz Yildiz
    Yilmaz Youssef Yunus Yusuf Yvette Yves Yvonne Zacharias Zafer Zara Zdenka Zdravko Zehra Zejneb
    Željko Zeljko Zekeriya Zeynep Zita Zoe Zoë Zofia Zoltan Zoran Zorica Zuzanna Zülfü
    """.split()
)
